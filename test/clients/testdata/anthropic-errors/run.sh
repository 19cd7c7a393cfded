python agent.py
