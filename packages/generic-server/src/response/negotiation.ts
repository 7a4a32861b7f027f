import {
  accepts,
  parseAccept,
  StatusError,
  statusErrors,
  type AcceptClause,
  type MediaType as AcceptedType,
} from '@multiplane/apimachinery';
import type { Headers } from '../exchange.ts';
import { AcceptCache } from './accept-cache.ts';

export type Encoding = 'json' | 'yaml' | 'protobuf';

/** A media type that objects are written in. */
interface MediaType {
  readonly text: string;
  readonly encoding: Encoding;
}
const json: MediaType = { text: 'application/json', encoding: 'json' };
const yaml: MediaType = { text: 'application/yaml', encoding: 'yaml' };
const protobuf: MediaType = { text: 'application/vnd.kubernetes.protobuf', encoding: 'protobuf' };

/** The shapes an object can be asked for in besides its own. */
export type TransformKind = 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList';

export interface Transform {
  readonly kind: TransformKind;
  readonly group: 'meta.k8s.io';
  readonly version: 'v1' | 'v1beta1';
}

/** What an answer looks like. */
export interface Negotiated {
  readonly mediaType: string;
  readonly encoding: Encoding;
  readonly transform: Transform | undefined;
  /** Indented JSON. */
  readonly pretty: boolean;
}

/** What an endpoint has to offer. Make these once: the object is the key of a cache. */
export interface EndpointKind {
  /** Built-in endpoints refuse a request that names none of their media types in words of their own (K1.4). */
  readonly origin: 'built-in' | 'custom';
  /** `object` takes transforms, `plain` none (reviews, discovery), `watch` has no frames of YAML. */
  readonly answers: 'object' | 'list' | 'watch' | 'plain';
  readonly table: boolean;
  /** What is there in protobuf: objects, or no more than their metadata. */
  readonly protobuf: 'objects' | 'metadata';
}

/** Endpoints of resources; `table: false` for kinds without columns (reviews). */
export const endpointKinds = {
  builtInObject: { origin: 'built-in', answers: 'object', table: true, protobuf: 'objects' },
  builtInList: { origin: 'built-in', answers: 'list', table: true, protobuf: 'objects' },
  builtInWatch: { origin: 'built-in', answers: 'watch', table: true, protobuf: 'objects' },
  builtInPlain: { origin: 'built-in', answers: 'plain', table: false, protobuf: 'objects' },
  customObject: { origin: 'custom', answers: 'object', table: true, protobuf: 'metadata' },
  customList: { origin: 'custom', answers: 'list', table: true, protobuf: 'metadata' },
  customWatch: { origin: 'custom', answers: 'watch', table: true, protobuf: 'metadata' },
  customPlain: { origin: 'custom', answers: 'plain', table: false, protobuf: 'objects' },
  // Definitions that bring back a kind of Kubernetes.
  nativeObject: { origin: 'custom', answers: 'object', table: true, protobuf: 'objects' },
  nativeList: { origin: 'custom', answers: 'list', table: true, protobuf: 'objects' },
  nativeWatch: { origin: 'custom', answers: 'watch', table: true, protobuf: 'objects' },
} as const satisfies Record<string, EndpointKind>;

/** What negotiation looks at. */
export interface NegotiationInput {
  readonly exchange: { readonly headers: Headers };
  readonly info: { readonly query: URLSearchParams };
}

const cache = new AcceptCache<Negotiated | StatusError>(1024);

/**
 * Picks the form of an answer (K1.4): clauses of Accept by falling weight, each tried against json, yaml and protobuf; a
 * clause with a transform that the endpoint does not have is skipped. Objects lie there in JSON: protobuf is for those who
 * do not take the same in JSON just as well (cost rule "bytes first"). Throws the 406.
 */
export function negotiate(context: NegotiationInput, kind: EndpointKind): Negotiated {
  const accept = acceptHeader(context.exchange.headers);
  let result = cache.get(kind, accept);
  if (result === undefined) {
    result = choose(accept, kind);
    cache.set(kind, accept, result);
  }
  if (result instanceof StatusError) throw result;
  if (result.pretty || result.encoding !== 'json') return result;
  return wantsPretty(context) ? prettyOf(result) : result;
}

/** Accept as one text; empty when there is none. */
export function acceptHeader(headers: Headers): string {
  const { accept } = headers;
  if (accept === undefined) return '';
  return typeof accept === 'string' ? accept : accept.join(',');
}

const prettyForms = new WeakMap<Negotiated, Negotiated>();
function prettyOf(negotiated: Negotiated): Negotiated {
  let pretty = prettyForms.get(negotiated);
  if (pretty === undefined) {
    pretty = { ...negotiated, pretty: true };
    prettyForms.set(negotiated, pretty);
  }
  return pretty;
}

const trueTexts = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);

/** `?pretty`, else what looks like a person's tool (K1.4). */
function wantsPretty({ exchange, info }: NegotiationInput): boolean {
  const asked = info.query.size === 0 ? null : info.query.get('pretty');
  if (asked !== null && asked !== '') return trueTexts.has(asked);
  const agent = exchange.headers['user-agent'];
  if (typeof agent !== 'string') return false;
  return agent.startsWith('curl') || agent.startsWith('Wget') || agent.startsWith('Mozilla/5.0');
}

function choose(accept: string, kind: EndpointKind): Negotiated | StatusError {
  if (kind.origin === 'built-in' && !namesServedType(accept)) return notRepresentable(kind);
  if (accept === '') return { mediaType: json.text, encoding: 'json', transform: undefined, pretty: false };
  const offered = kind.answers === 'watch' ? [json, protobuf] : [json, yaml, protobuf];
  const clauses = parseAccept(accept);
  for (const clause of clauses) {
    for (const type of offered) {
      const chosen = accepts(clause, type.text) ? readParameters(clause, type, kind) : undefined;
      if (chosen === undefined) continue;
      return type === protobuf ? (equalInJson(chosen, clause, clauses, kind) ?? chosen) : chosen;
    }
  }
  return notAcceptable(kind);
}

/** The same in JSON for a client that gives it no less weight. */
function equalInJson(
  chosen: Negotiated,
  { quality }: AcceptClause,
  clauses: readonly AcceptClause[],
  kind: EndpointKind,
): Negotiated | undefined {
  for (const clause of clauses) {
    if (clause.quality !== quality || !accepts(clause, json.text)) continue;
    const other = readParameters(clause, json, kind);
    if (other?.transform?.kind === chosen.transform?.kind && other?.transform?.version === chosen.transform?.version)
      return other;
  }
  return undefined;
}

function readParameters(clause: AcceptedType, type: MediaType, kind: EndpointKind): Negotiated | undefined {
  const { parameters } = clause;
  let transform: Transform | undefined;
  const as = parameters.get('as');
  const group = parameters.get('g');
  const version = parameters.get('v');
  if (as !== undefined || group !== undefined || version !== undefined) {
    transform = transformOf(as, group, version, kind);
    if (transform === undefined) return undefined;
  }
  const { encoding } = type;
  if (encoding === 'protobuf' && (transform === undefined ? kind.protobuf === 'metadata' : transform.kind === 'Table'))
    return undefined;
  const stream = parameters.get('stream');
  if (stream !== undefined && (stream !== 'watch' || encoding === 'yaml')) return undefined;
  const pretty = encoding === 'json' && kind.answers !== 'watch' && parameters.get('pretty') === '1';
  const mediaType = encoding === 'protobuf' && kind.answers === 'watch' ? type.text + watchSuffix : type.text;
  return { mediaType, encoding, transform, pretty };
}

function transformOf(
  as: string | undefined,
  group: string | undefined,
  version: string | undefined,
  kind: EndpointKind,
): Transform | undefined {
  if (kind.answers === 'plain' || group !== 'meta.k8s.io' || (version !== 'v1' && version !== 'v1beta1'))
    return undefined;
  switch (as) {
    case 'Table':
      return kind.table ? { kind: as, group, version } : undefined;
    case 'PartialObjectMetadata':
    case 'PartialObjectMetadataList':
      return { kind: as, group, version };
    default:
      return undefined;
  }
}

const watchSuffix = ';stream=watch';
const objectTypes = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf'];
const watchTypes = [objectTypes[0] + watchSuffix, objectTypes[2] + watchSuffix];
const servedTypes = new Set(objectTypes);

/** Whether some clause names a media type of built-in endpoints exactly; parameters and weights do not count. */
function namesServedType(accept: string): boolean {
  if (accept === '') return true;
  for (const clause of accept.split(',')) {
    const end = clause.indexOf(';');
    const type = (end < 0 ? clause : clause.slice(0, end)).trim();
    if (type === '*/*' || servedTypes.has(type)) return true;
  }
  return false;
}

const notAcceptable = (kind: EndpointKind): StatusError =>
  statusErrors.notAcceptable(kind.answers === 'watch' ? watchTypes : objectTypes);

function notRepresentable(kind: EndpointKind): StatusError {
  const types = kind.answers === 'list' || kind.answers === 'watch' ? [...objectTypes, ...watchTypes] : objectTypes;
  return new StatusError({
    code: 406,
    reason: 'NotAcceptable',
    message: `406: Not Acceptable\n\nAvailable representations: ${types.join(', ')}`,
    details: {},
  });
}
