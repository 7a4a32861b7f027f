"""Reads a large object and writes a small one over each connection, in turns, with the package `requests`.

Prints how many requests got a response, and why the others did not.
"""

import collections
import os
import sys
import threading

import requests

url, token, rounds = os.environ["MAPS"], os.environ["TOKEN"], int(os.environ["ROUNDS"])
outcomes = collections.Counter()
lock = threading.Lock()


def outcome(send):
    try:
        response = send()
        result = f"{response.status_code} {len(response.content) > 80000}"
    except requests.RequestException as error:
        result = repr(error)
    with lock:
        outcomes[result] += 1


def work():
    with requests.Session() as session:
        # Proxies and certificates of the environment are not for this server.
        session.trust_env = False
        session.verify = os.environ["CA"]
        session.headers["Authorization"] = f"Bearer {token}"
        small = {"metadata": {"name": "small"}, "data": {"a": "x"}}
        for _ in range(rounds):
            outcome(lambda: session.get(f"{url}/large"))
            outcome(lambda: session.post(f"{url}?dryRun=All", json=small))
            outcome(lambda: session.get(url))


threads = [threading.Thread(target=work) for _ in range(int(os.environ["CONNECTIONS"]))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for result, count in sorted(outcomes.items()):
    print(count, result)
sys.exit(0)
