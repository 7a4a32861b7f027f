import {
  encodeJsonGo,
  encodeYaml,
  isStatusError,
  statusErrors,
  type JsonObject,
  type Status,
  type StatusError,
} from '@multiplane/apimachinery';
import { encodeProtobufObject } from '@multiplane/apis';
import { endpointKinds, negotiate, type Negotiated, type NegotiationInput } from './endpoints/negotiation.ts';
import type { Exchange } from './exchange.ts';

const textType = 'text/plain; charset=utf-8';

/** What the writers need of a request; every RequestContext is one. */
export interface ResponseTarget extends NegotiationInput {
  readonly exchange: Exchange;
}

/**
 * Answers with an object that is not on the hot path (hot ones are bytes already: {@link writeBytes}). JSON as Go's
 * encoder writes it, ending in a newline unless indented; YAML with sorted keys; protobuf in its envelope (K1.4).
 */
export function writeObject(target: ResponseTarget, status: number, object: object, negotiated: Negotiated): void {
  const body =
    negotiated.encoding === 'protobuf' ? encodeProtobufObject(object as JsonObject) : encodeObject(object, negotiated);
  writeBytes(target, status, negotiated.mediaType, body);
}

/** The text of an object in a negotiated form that is one. `sortKeys` for what Go would hold in a map (custom resources). */
export function encodeObject(object: unknown, negotiated: Negotiated, sortKeys = false): string {
  if (negotiated.encoding === 'yaml') return encodeYaml(object);
  return negotiated.pretty
    ? encodeJsonGo(object, { pretty: true, sortKeys })
    : `${encodeJsonGo(object, { sortKeys })}\n`;
}

/** Answers with a body that is complete. */
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
 * Answers with a Status, in the form the client accepts; when it accepts none, the Status itself goes out as indented
 * JSON instead of a 406 (K1.4). Does nothing but cut the answer off when one has begun.
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
  writeObject(target, error.code, status, negotiated);
}

/** Answers with plain text that no browser will take for a page. */
export function writeText(exchange: Exchange, status: number, text: string): void {
  exchange.setHeader('content-type', textType);
  exchange.setHeader('x-content-type-options', 'nosniff');
  exchange.respond(status, text);
}

/** What a path answers that belongs to nobody (K1.2). */
export function writeNotFoundText(exchange: Exchange): void {
  writeText(exchange, 404, '404 page not found\n');
}

/** A method that a built-in path does not offer (K1.2). */
export function writeMethodNotAllowed(target: ResponseTarget): void {
  writeStatusError(target, statusErrors.methodNotOffered());
}
