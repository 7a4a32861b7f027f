import {
  encodeJsonGo,
  encodeJsonGoIncrementally,
  encodeYaml,
  encodeYamlIncrementally,
  isStatusError,
  statusErrors,
  type Json,
  type Status,
  type StatusError,
} from '@multiplane/apimachinery';
import { runInTimeSlices } from '@multiplane/component-base';
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

/** A longer message is written in time slices. */
const longMessage = 64 * 1024;

/**
 * {@link writeStatusError}, in time slices for an error that quotes megabytes of what a client sent: escaping makes them six times as
 * long. Undefined: it is written. `lane`: the logical cluster.
 */
export function respondStatusError(
  target: ResponseTarget,
  error: StatusError,
  lane: string | undefined,
): Promise<void> | undefined {
  if (error.message.length >= longMessage && !target.exchange.headersSent)
    return respondLongStatus(target, error, lane);
  writeStatusError(target, error);
  return undefined;
}

async function respondLongStatus(target: ResponseTarget, error: StatusError, lane: string | undefined): Promise<void> {
  const negotiated = negotiatedForStatus(target);
  const status = error.toStatus() as unknown as Json;
  if (negotiated?.encoding === 'protobuf') {
    writeStatusError(target, error);
    return;
  }
  const { signal } = target.exchange;
  const body = await runInTimeSlices(
    negotiated?.encoding === 'yaml'
      ? encodeYamlIncrementally(status)
      : encodeJsonGoIncrementally(status, negotiated?.pretty !== false),
    lane,
    () => signal,
  );
  const end = negotiated?.encoding === 'json' && !negotiated.pretty ? '\n' : '';
  writeBytes(target, error.code, negotiated?.mediaType ?? 'application/json', `${body}${end}`);
}

/** Undefined: the client accepts none. */
function negotiatedForStatus(target: ResponseTarget): Negotiated | undefined {
  try {
    return negotiate(target, endpointKinds.customPlain);
  } catch (refusal) {
    if (!isStatusError(refusal)) throw refusal;
    return undefined;
  }
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
  const negotiated = negotiatedForStatus(target);
  if (negotiated === undefined) {
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
