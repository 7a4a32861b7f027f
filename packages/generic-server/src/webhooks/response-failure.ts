import { isJsonObject, parseJson } from '@multiplane/apimachinery';

/** Bytes of a response body that an error message includes. */
const maxTextBytes = 2048;

/**
 * The error message for an unsuccessful response: the message of its Status, else the text of client-go for its code
 * (`errors.NewGenericServerResponse`).
 */
export function responseFailure(code: number, contentType: string, body: Buffer): string {
  const message = statusMessage(body);
  if (message !== undefined) return message;
  const isText = contentType === '' || contentType.startsWith('text/');
  const text = isText ? body.toString('utf8', 0, maxTextBytes).trim() : 'unknown';
  switch (code) {
    case 400:
      return 'the server rejected our request for an unknown reason';
    case 401:
      return 'the server has asked for the client to provide credentials';
    case 403:
    case 415:
      return text;
    case 404:
      return 'the server could not find the requested resource';
    case 405:
      return 'the server does not allow this method on the requested resource';
    case 406:
      return text === '' || text === 'unknown'
        ? 'the server was unable to respond with a content type that the client supports'
        : text;
    case 409:
      return 'the server reported a conflict';
    case 422:
      return 'the server rejected our request due to an error in our request';
    case 429:
      return 'the server has received too many requests and has asked us to try again later';
    case 503:
      return 'the server is currently unable to handle the request';
    case 504:
      return 'the server was unable to return a response in the time allotted, but may still be processing the request';
    default:
      return code >= 500
        ? `an error on the server (${JSON.stringify(text)}) has prevented the request from succeeding`
        : `the server responded with the status code ${code} but did not return more information`;
  }
}

function statusMessage(body: Buffer): string | undefined {
  try {
    const value = parseJson(body);
    if (!isJsonObject(value) || value['kind'] !== 'Status' || value['status'] === 'Success') return undefined;
    return typeof value['message'] === 'string' ? value['message'] : undefined;
  } catch {
    // Not JSON: the message is derived from the status code.
    return undefined;
  }
}
