// The e2e tests append recorded responses to this file, as literals of the Node SDK's types, and compile it.
import type OpenAI from 'openai';
import type { ResponseItemList } from 'openai/resources/responses/input-items';
import type { InputTokenCountResponse } from 'openai/resources/responses/input-tokens';
import type { Response, ResponseStreamEvent } from 'openai/resources/responses/responses';
import type { ErrorObject } from 'openai/resources/shared';

// The fields of Trident that the SDK doesn't declare.
declare module 'openai/resources/chat/completions/completions' {
  interface ChatCompletionMessage {
    reasoning?: string;
    reasoning_content?: string;
  }
  namespace ChatCompletionChunk.Choice {
    interface Delta {
      reasoning?: string;
      reasoning_content?: string;
    }
  }
}
declare module 'openai/resources/models' {
  interface Model {
    max_model_len?: number;
  }
}

// A response without output_text, which the SDK adds, and access_programs, which only OpenAI's hosted models have.
type Sent = Omit<Response, 'output_text' | 'access_programs'>;
type SentEvent<T = ResponseStreamEvent> = T extends { response: Response } ? Omit<T, 'response'> & { response: Sent } : T;

interface Types {
  ChatCompletion: OpenAI.ChatCompletion;
  ChatCompletionChunk: OpenAI.ChatCompletionChunk;
  Completion: OpenAI.Completion;
  CreateEmbeddingResponse: OpenAI.CreateEmbeddingResponse;
  Decision: OpenAI.Decision;
  ErrorObject: ErrorObject;
  InputTokenCountResponse: InputTokenCountResponse;
  Model: OpenAI.Model;
  Response: Sent;
  ResponseItemList: ResponseItemList;
  ResponseStreamEvent: SentEvent;
}

