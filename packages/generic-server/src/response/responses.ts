import {
  encodeJsonGo,
  encodeYaml,
  isStatusError,
  statusErrors,
  type Status,
  type StatusError,
} from '@multiplane/apimachinery';
import type { Exchange } from '../server/exchange.ts';
import { endpointKinds, negotiate, type Negotiated, type NegotiationInput } from './negotiation.ts';
import { encodeProtobufStatus } from './status-protobuf.ts';

const textType = 'text/plain; charset=utf-8';

/** The parts of a request that determine the form of its response; every RequestContext satisfies it. */
export interface ResponseTarget extends NegotiationInput {
  readonly exchange: Exchange;
}

/** Encodes an object as JSON or YAML. `sortKeys`: for objects that Go holds in a map (custom resources). */
export function encodeObject(object: unknown, negotiated: Negotiated, sortKeys = false): string {
  if (negotiated.encoding === 'yaml') return encodeYaml(object);
  return negotiated.pretty
    ? encodeJsonGo(object, { pretty: true, sortKeys })
    : `${encodeJsonGo(object, { sortKeys })}\n`;
}

/** Responds with a complete body. */
export function writeBytes(
  target: { readonly exchange: Exchange },
  status: number,
  contentType: string,
  body: Buffer | string,
): void {
  const { exchange } = target;
  exchange.setHeader('content-type', contentType);
  exchange.respond(status, body);
}

/**
 * Responds with a Status in a media type that the client accepts, or in indented JSON if it accepts none, as kube-apiserver
 * does. Aborts a response that has already started.
 */
export function writeStatusError(target: ResponseTarget, error: StatusError): void {
  const { exchange } = target;
  if (exchange.headersSent) {
    exchange.destroy();
    return;
  }
  const retryAfter = error.details?.retryAfterSeconds;
  if (retryAfter !== undefined && retryAfter > 0) exchange.setHeader('retry-after', String(retryAfter));
  const status: Status = error.toStatus();
  let negotiated: Negotiated;
  try {
    negotiated = negotiate(target, endpointKinds.customPlain);
  } catch (refusal) {
    if (!isStatusError(refusal)) throw refusal;
    writeBytes(target, error.code, 'application/json', encodeJsonGo(status, { pretty: true }));
    return;
  }
  const body = negotiated.encoding === 'protobuf' ? encodeProtobufStatus(status) : encodeObject(status, negotiated);
  writeBytes(target, error.code, negotiated.mediaType, body);
}

/** Responds with plain text that browsers do not interpret as HTML. */
export function writeText(exchange: Exchange, status: number, text: string): void {
  exchange.setHeader('content-type', textType);
  exchange.setHeader('x-content-type-options', 'nosniff');
  exchange.respond(status, text);
}

/** Responds to an unknown path. */
export function writeNotFoundText(exchange: Exchange): void {
  writeText(exchange, 404, '404 page not found\n');
}

/** Responds to an unsupported method of a built-in path. */
export function writeMethodNotAllowed(target: ResponseTarget): void {
  writeStatusError(target, statusErrors.methodNotOffered());
}
