/** A response that is no success: the Status of the API server, or what the console's backend answers. */
export class ApiError extends Error {
  readonly code: number;
  readonly reason: string;
  constructor(code: number, reason: string, message: string) {
    super(message);
    this.code = code;
    this.reason = reason;
  }
}

/** Reads the Status in the body of a failed response; bodies of proxies in between are no JSON. */
export async function apiErrorOf(response: Pick<Response, 'status' | 'statusText' | 'text'>): Promise<ApiError> {
  const text = await response.text();
  try {
    const { reason, message } = JSON.parse(text) as { reason?: unknown; message?: unknown };
    return new ApiError(
      response.status,
      typeof reason === 'string' ? reason : response.statusText,
      typeof message === 'string' ? message : text.slice(0, 500),
    );
  } catch {
    const message = text.trim() === '' ? `the server answered ${response.status}` : text.slice(0, 500);
    return new ApiError(response.status, response.statusText, message);
  }
}

/** The server answered, and asking again changes nothing. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof ApiError && error.code < 500 && error.code !== 429;
