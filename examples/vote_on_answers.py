"""Vote on answers and confidences that you have, and explain it: python examples/vote_on_answers.py."""

import distrivote

answers = ["12", "35", "12", "12", None, "2", "35", "12", "2", "2", "12", "2", "12", "2", "12", "35", "2"]
confidences = [9.9, 8.0, 10.4, 10.1, None, 7.2, 7.9, 9.6, 7.4, 7.0, 10.6, 7.5, 9.8, 7.1, 10.0, 8.2, 7.3]

result = distrivote.vote(answers, confidences)
print(result.explain())
for method in ("sc", "wsc", "bon", "wsc-gmm"):
    print(f"{method:8} {distrivote.vote(answers, confidences, method=method).answer}")
