"""Ask a question by pydantic-ai, with votes: python pydantic_ai_client.py http://localhost:8765/v1 MODEL."""

import sys

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

base_url, model = sys.argv[1:]
agent = Agent(OpenAIChatModel(model, provider=OpenAIProvider(base_url=base_url, api_key="none")))
print(agent.run_sync("Tom has 5 apples and buys 7 more. How many has he?").output)
