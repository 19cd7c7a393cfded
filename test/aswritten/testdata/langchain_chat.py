"""A chat with a system message, by LangChain."""

from langchain_core.messages import HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI

chat = ChatOpenAI(openai_api_base="http://localhost:3000/v1", openai_api_key="test", model_name="ensemble", max_tokens=100)
print(chat.invoke([SystemMessage(content="Be kind."), HumanMessage(content="What is a model for?")]).content)
