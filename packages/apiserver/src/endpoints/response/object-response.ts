import { traced } from '@multiplane/component-base';
import {
  type DeepReadonly,
  type KubeObject,
  StatusError,
  parseJson,
  encodeYamlIncrementally,
  indentedJsonParts,
  parseJsonIncrementally,
} from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import { encodeObject, type Negotiated, type RequestContext, writeBytes } from '@multiplane/generic-server';
import { encodeForWire, encodeForWireIncrementally } from '../../registry/codec/object-codec.ts';
import { spliced } from '../../registry/codec/stored-layout.ts';
import { isLarge, withoutPasses } from '../../time-slices.ts';
import { internalPackage } from '../../write-path/decoding/expected-kind.ts';
import { ChunkedBody } from './chunked-body.ts';
import { protobufIncrementally, protobufObject } from './protobuf-response.ts';
import {
  copiesMetadata,
  includeObjectOf,
  partialObject,
  partialObjectIncrementally,
  storedPartialObject,
  tableOfOne,
  tableOfOneIncrementally,
} from './table-writer.ts';

/** An object to be sent to a client. */
export interface OutgoingObject {
  /** The parsed object; called only if the response needs it. */
  object(): DeepReadonly<KubeObject>;
  /** The stored bytes if the client receives exactly those, and their revision. */
  readonly bytes: Buffer | undefined;
  readonly revision: number;
  /** About the length of the object in bytes. */
  readonly size: number;
  /** Parses and converts a large object in time slices before {@link object}; undefined: nothing to wait for. */
  load?(): Promise<void> | undefined;
}

/** {@link checkTransform} for an object of a kind. */
export function checkObjectTransform(
  definition: ResourceDefinition,
  negotiated: Negotiated,
  context: RequestContext,
): void {
  checkTransform(negotiated, context, () => typeName(definition, false));
}

/**
 * Throws 406 for a transform that one object does not have, and 400 for invalid options of a table. As in kube-apiserver the
 * response is transformed after the request has had its effect, and an error of the request comes first.
 */
export function checkTransform({ transform }: Negotiated, context: RequestContext, goType: () => string): void {
  if (transform?.kind === 'PartialObjectMetadataList') {
    throw notAcceptable(
      `you requested PartialObjectMetadataList, but the requested object is not a list (${goType()})`,
    );
  }
  if (transform?.kind === 'Table') includeObjectOf(context.info.query);
}

export function checkListTransform(
  definition: ResourceDefinition,
  negotiated: Negotiated,
  context: RequestContext,
): void {
  if (negotiated.transform?.kind === 'PartialObjectMetadata') {
    throw notAcceptable(
      `you requested PartialObjectMetadata, but the requested object is a list (${typeName(definition, true)})`,
    );
  }
  if (negotiated.transform?.kind === 'Table') includeObjectOf(context.info.query);
}

const notAcceptable = (message: string): StatusError =>
  new StatusError({ code: 406, reason: 'NotAcceptable', message });

/** The Go type that messages of Kubernetes name. */
function typeName(definition: ResourceDefinition, list: boolean): string {
  if (definition.origin === 'custom') return list ? '*unstructured.UnstructuredList' : '*unstructured.Unstructured';
  return `*${internalPackage(definition.group)}.${list ? definition.listKind : definition.kind}`;
}

/** Responds with one object in the negotiated form; in time slices, and with a promise, if a large one must be converted. */
export function respondObject(
  context: RequestContext,
  definition: ResourceDefinition,
  negotiated: Negotiated,
  status: number,
  outgoing: OutgoingObject,
  now: Date,
): Promise<void> | undefined {
  checkObjectTransform(definition, negotiated, context);
  if (isLarge(outgoing.size) && !(outgoing.bytes !== undefined && isSentAsStored(negotiated)))
    return respondLarge(context, definition, negotiated, { status, now }, outgoing);
  const body = traced('serialize', () => objectBody(context, definition, negotiated, outgoing, now));
  writeBytes(context, status, negotiated.mediaType, body);
  return undefined;
}

const isReadable = ({ encoding, pretty }: Negotiated): boolean => encoding === 'yaml' || pretty;

const isSentAsStored = (negotiated: Negotiated): boolean =>
  negotiated.encoding === 'json' && negotiated.transform === undefined && !isReadable(negotiated);

async function respondLarge(
  context: RequestContext,
  definition: ResourceDefinition,
  negotiated: Negotiated,
  response: { readonly status: number; readonly now: Date },
  outgoing: OutgoingObject,
): Promise<void> {
  const { bytes, revision, size } = outgoing;
  const { transform } = negotiated;
  context.work.grow(size);
  if (bytes !== undefined && transform === undefined && isReadable(negotiated)) {
    await writeLargeText(context, response.status, spliced(bytes, revision, '', ''), negotiated);
    return;
  }
  const loading = outgoing.load?.();
  if (loading !== undefined) await loading;
  await context.work.pause();
  if (transform === undefined) {
    await writeLargeTyped(context, response.status, outgoing.object(), negotiated, size);
    return;
  }
  if (negotiated.encoding === 'protobuf') {
    const body = await context.work.run(protobufIncrementally(outgoing.object(), transform, size));
    await context.work.pause();
    writeBytes(context, response.status, negotiated.mediaType, body);
    return;
  }
  const stored = bytes === undefined ? undefined : { value: bytes, revision };
  const steps =
    transform.kind === 'Table'
      ? tableOfOneIncrementally(
          definition,
          outgoing.object(),
          transform,
          includeObjectOf(context.info.query),
          response.now,
          true,
          stored,
        )
      : stored !== undefined && copiesMetadata(definition, transform)
        ? withoutPasses(storedPartialObject(stored, transform))
        : partialObjectIncrementally(outgoing.object(), transform);
  await writeLargeText(context, response.status, await context.work.run(steps), negotiated);
}

/** Writes the JSON of a large object in the negotiated form. */
async function writeLargeText(
  context: RequestContext,
  status: number,
  json: Buffer | string,
  negotiated: Negotiated,
): Promise<void> {
  if (negotiated.encoding === 'yaml') return respondYaml(context, negotiated, status, json);
  if (negotiated.pretty) return respondIndented(context, negotiated, status, json.toString());
  await context.work.pause();
  writeBytes(context, status, negotiated.mediaType, `${json.toString()}\n`);
}

/** YAML of a large object, whose members are in wire order. */
async function respondYaml(
  context: RequestContext,
  negotiated: Negotiated,
  status: number,
  json: Buffer | string,
): Promise<void> {
  const { value } = await context.work.run(parseJsonIncrementally(json, false));
  await context.work.pause();
  const text = await context.work.run(encodeYamlIncrementally(value));
  await context.work.pause();
  writeBytes(context, status, negotiated.mediaType, text);
}

/** Indented JSON, written while the client reads: of a deep object it may be a thousand times as long as the object. */
async function respondIndented(
  context: RequestContext,
  negotiated: Negotiated,
  status: number,
  json: string,
): Promise<void> {
  context.exchange.setHeader('content-type', negotiated.mediaType);
  const body = new ChunkedBody(context, status);
  for (const part of indentedJsonParts(json)) {
    body.pushBlock(Buffer.from(part));
    if (body.shouldPause) await body.checkpoint();
  }
  body.end();
}

function objectBody(
  context: RequestContext,
  definition: ResourceDefinition,
  negotiated: Negotiated,
  outgoing: OutgoingObject,
  now: Date,
): Buffer | string {
  const { transform } = negotiated;
  if (negotiated.encoding === 'protobuf') return protobufObject(outgoing.object(), transform, outgoing.bytes?.length);
  if (transform === undefined) return wholeBody(negotiated, outgoing);
  const text =
    transform.kind === 'Table'
      ? tableOfOne(definition, outgoing.object(), transform, includeObjectOf(context.info.query), now)
      : partialObject(outgoing.object(), transform);
  return isReadable(negotiated) ? encodeObject(parseJson(text), negotiated) : `${text}\n`;
}

/** An object without transform, in JSON or YAML. */
function wholeBody(negotiated: Negotiated, outgoing: OutgoingObject): Buffer | string {
  if (isReadable(negotiated)) return encodeObject(inWireOrder(outgoing.object()), negotiated);
  return outgoing.bytes === undefined
    ? Buffer.concat([encodeForWire(outgoing.object() as KubeObject), newline])
    : spliced(outgoing.bytes, outgoing.revision, '', '\n');
}

/** Responds with an object that was made for this response and is not stored. */
export function writeTyped(
  context: RequestContext,
  status: number,
  object: DeepReadonly<KubeObject>,
  negotiated: Negotiated,
): void {
  const body =
    negotiated.encoding === 'protobuf'
      ? protobufObject(object, undefined)
      : wholeBody(negotiated, { object: () => object, bytes: undefined, revision: 0, size: 0 });
  writeBytes(context, status, negotiated.mediaType, body);
}

/** {@link writeTyped} of a large object, in time slices. */
export async function writeLargeTyped(
  context: RequestContext,
  status: number,
  object: DeepReadonly<KubeObject>,
  negotiated: Negotiated,
  bytes: number,
): Promise<void> {
  context.work.grow(bytes);
  await context.work.pause();
  if (negotiated.encoding === 'protobuf') {
    const body = await context.work.run(protobufIncrementally(object, undefined, bytes));
    writeBytes(context, status, negotiated.mediaType, body);
    return;
  }
  const json = await context.work.run(encodeForWireIncrementally(object as KubeObject));
  await writeLargeText(context, status, json, negotiated);
}

const newline = Buffer.from('\n');

/** The object with its members in wire order, for encoders that keep the order of members. */
export function inWireOrder(object: DeepReadonly<KubeObject>): unknown {
  return parseJson(encodeForWire(object as KubeObject));
}
