"""Ask a question by LangChain, with votes: python langchain_client.py http://localhost:8765/v1 MODEL."""

import sys

from langchain_openai import ChatOpenAI

base_url, model = sys.argv[1:]
chat = ChatOpenAI(model=model, base_url=base_url, api_key="none")
print(chat.invoke("Tom has 5 apples and buys 7 more. How many has he?").content)
