"""A prompt template and a completion, by LangChain."""

from langchain_core.prompts import PromptTemplate
from langchain_openai import OpenAI

prompt = PromptTemplate(template="USER: Answer as a doctor.\nUSER: {question}\nASSISTANT:\n", input_variables=["question"])
model = OpenAI(openai_api_base="http://localhost:3000/v1", openai_api_key="test", model_name="ensemble")
print((prompt | model).invoke({"question": "What helps a sore knee?"}))
