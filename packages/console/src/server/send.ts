import type { ServerResponse } from 'node:http';
import { StatusError, statusErrors } from '@multiplane/apimachinery';

export function sendJson(response: ServerResponse, status: number, body: object): void {
  const bytes = Buffer.from(JSON.stringify(body));
  response.statusCode = status;
  response.setHeader('content-type', 'application/json');
  response.setHeader('content-length', bytes.length);
  response.end(bytes);
}

export function sendText(response: ServerResponse, status: number, type: string, text: string): void {
  const bytes = Buffer.from(text);
  response.statusCode = status;
  response.setHeader('content-type', `${type}; charset=utf-8`);
  response.setHeader('content-length', bytes.length);
  response.end(bytes);
}

export function redirect(response: ServerResponse, status: 302 | 303 | 307, location: string): void {
  response.statusCode = status;
  response.setHeader('location', location);
  response.end();
}

/** Answers with a Status, as the API server does. What is no StatusError says nothing about itself. */
export function sendError(response: ServerResponse, error: unknown): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const status = error instanceof StatusError ? error : statusErrors.internal('the console failed');
  const retryAfter = status.details?.retryAfterSeconds;
  if (retryAfter !== undefined && retryAfter > 0) response.setHeader('retry-after', String(retryAfter));
  sendJson(response, status.code, status.toStatus());
}
