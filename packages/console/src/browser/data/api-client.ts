import { ApiError, apiErrorOf } from './api-error.ts';

export interface ApiClientModules {
  readonly fetch: (path: string, init: RequestInit) => Promise<Response>;
  /** Called for every 401: the session has ended. */
  readonly onUnauthorized: () => void;
}

export interface ApiRequest {
  readonly method?: string;
  readonly accept?: string;
  readonly contentType?: string;
  readonly body?: string;
  readonly signal?: AbortSignal;
}

const isSafe = (method: string): boolean => method === 'GET' || method === 'HEAD';

/** Requests to the console's backend, which adds the identity of the user. */
export class ApiClient {
  readonly #modules: ApiClientModules;
  /** Sent with every request that changes state; from the session. */
  csrfToken = '';

  constructor(modules: ApiClientModules) {
    this.#modules = modules;
  }

  /** Rejects with an ApiError unless the response is a success. `path` is below `/console/`. */
  async send(path: string, { method = 'GET', accept, contentType, body, signal }: ApiRequest = {}): Promise<Response> {
    const headers: Record<string, string> = { Accept: accept ?? 'application/json' };
    if (!isSafe(method)) headers['X-CSRF-Token'] = this.csrfToken;
    if (body !== undefined) headers['Content-Type'] = contentType ?? 'application/json';
    const response = await this.#modules.fetch(`/console/${path}`, {
      method,
      headers,
      credentials: 'same-origin',
      redirect: 'error',
      ...(body === undefined ? {} : { body }),
      ...(signal === undefined ? {} : { signal }),
    });
    if (response.ok) return response;
    if (response.status === 401) this.#modules.onUnauthorized();
    throw await apiErrorOf(response);
  }

  async json<T>(path: string, request: ApiRequest = {}): Promise<T> {
    const response = await this.send(path, request);
    const text = await response.text();
    try {
      return JSON.parse(text) as T;
    } catch (cause) {
      throw new ApiError(response.status, 'InvalidResponse', `the response is no JSON: ${String(cause)}`);
    }
  }
}
