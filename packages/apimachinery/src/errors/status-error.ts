import { quote } from '../go/go-quote.ts';
import { groupResourceText, type GroupResource } from '../meta/group-version.ts';
import { fieldErrorBody, type FieldError } from '../validation/field-error.ts';

/** metav1.StatusReason. The empty reason stands for any untyped failure. */
export type StatusReason =
  | ''
  | 'BadRequest'
  | 'Unauthorized'
  | 'Forbidden'
  | 'NotFound'
  | 'AlreadyExists'
  | 'Conflict'
  | 'Gone'
  | 'Invalid'
  | 'ServerTimeout'
  | 'Timeout'
  | 'TooManyRequests'
  | 'MethodNotAllowed'
  | 'NotAcceptable'
  | 'RequestEntityTooLarge'
  | 'UnsupportedMediaType'
  | 'InternalError'
  | 'Expired'
  | 'ServiceUnavailable';

export interface StatusCause {
  reason?: string;
  message?: string;
  field?: string;
}
export interface StatusDetails {
  name?: string;
  group?: string;
  /** Holds the resource for every reason but Invalid, where it is the Kind. */
  kind?: string;
  uid?: string;
  causes?: StatusCause[];
  retryAfterSeconds?: number;
}
/** metav1.Status, in the order of its fields on the wire. */
export interface Status {
  kind: 'Status';
  apiVersion: 'v1';
  metadata: { continue?: string };
  status: 'Failure' | 'Success';
  message?: string;
  reason?: StatusReason;
  details?: StatusDetails;
  code?: number;
}

interface StatusErrorInit {
  readonly code: number;
  readonly reason: StatusReason;
  readonly message: string;
  readonly details?: StatusDetails | undefined;
  readonly continue?: string | undefined;
  readonly cause?: unknown;
}

/**
 * A failure whose answer to the client is already decided. Everything else that is thrown becomes a 500 at the edge.
 * Test with {@link isStatusError} and the `reason`, not with `instanceof`: two copies of this package must agree.
 */
export class StatusError extends Error {
  override readonly name = 'StatusError';
  readonly code: number;
  readonly reason: StatusReason;
  readonly details: StatusDetails | undefined;
  readonly continueToken: string | undefined;
  constructor(init: StatusErrorInit) {
    super(init.message, init.cause === undefined ? undefined : { cause: init.cause });
    this.code = init.code;
    this.reason = init.reason;
    this.details = init.details;
    this.continueToken = init.continue;
  }
  toStatus(): Status {
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: this.continueToken === undefined ? {} : { continue: this.continueToken },
      status: 'Failure',
      message: this.message,
      ...(this.reason === '' ? {} : { reason: this.reason }),
      ...(this.details === undefined ? {} : { details: this.details }),
      code: this.code,
    };
  }
}

/** True for a {@link StatusError} of any copy of this package, optionally of one reason. */
export function isStatusError(error: unknown, reason?: StatusReason): error is StatusError {
  return (
    error instanceof Error &&
    error.name === 'StatusError' &&
    (reason === undefined || (error as StatusError).reason === reason)
  );
}

const detailsOf = (gr: GroupResource, name: string): StatusDetails => ({
  ...(name === '' ? {} : { name }),
  ...(gr.group === '' ? {} : { group: gr.group }),
  ...(gr.resource === '' ? {} : { kind: gr.resource }),
});

/** Limit of reported causes: a hostile object has 100,000 errors, and listing all of them would exceed its own size. */
export const maxCauses = 1000;
/** The same of an object whose faults are long: some show a list as large as the object, each of them. */
const maxCauseCharacters = 3 * 1024 * 1024;

/** Constructors of the errors every server answers with. `gr` and `name` fill `details`. */
export const statusErrors = {
  badRequest: (message: string, cause?: unknown): StatusError =>
    new StatusError({ code: 400, reason: 'BadRequest', message, cause }),
  unauthorized: (): StatusError => new StatusError({ code: 401, reason: 'Unauthorized', message: 'Unauthorized' }),
  /** `<gr> "<name>" is forbidden: <why>`; shorter without a name, `forbidden: <why>` without a resource. */
  forbidden: (gr: GroupResource, name: string, why: string, causes?: StatusCause[]): StatusError => {
    const subject =
      gr.resource === ''
        ? 'forbidden'
        : name === ''
          ? `${groupResourceText(gr)} is forbidden`
          : `${groupResourceText(gr)} ${quote(name)} is forbidden`;
    return new StatusError({
      code: 403,
      reason: 'Forbidden',
      message: `${subject}: ${why}`,
      details: { ...detailsOf(gr, name), ...(causes === undefined ? {} : { causes }) },
    });
  },
  notFound: (gr: GroupResource, name: string): StatusError =>
    new StatusError({
      code: 404,
      reason: 'NotFound',
      message: `${groupResourceText(gr)} ${quote(name)} not found`,
      details: detailsOf(gr, name),
    }),
  /** What a path below an installed group answers when nothing is there. */
  unknownResource: (): StatusError =>
    new StatusError({
      code: 404,
      reason: 'NotFound',
      message: 'the server could not find the requested resource',
      details: {},
    }),
  /** {@link unknownResource} as client-go makes it of a plain 404 of the server that the request was forwarded to. */
  unknownUpstreamPath: (): StatusError =>
    new StatusError({
      code: 404,
      reason: 'NotFound',
      message: 'the server could not find the requested resource',
      details: { causes: [{ reason: 'UnexpectedServerResponse', message: '404 page not found' }] },
    }),
  alreadyExists: (gr: GroupResource, name: string): StatusError =>
    new StatusError({
      code: 409,
      reason: 'AlreadyExists',
      message: `${groupResourceText(gr)} ${quote(name)} already exists`,
      details: detailsOf(gr, name),
    }),
  conflict: (gr: GroupResource, name: string, why: string): StatusError =>
    new StatusError({
      code: 409,
      reason: 'Conflict',
      message: `Operation cannot be fulfilled on ${groupResourceText(gr)} ${quote(name)}: ${why}`,
      details: detailsOf(gr, name),
    }),
  /** 422 with one cause per error, up to {@link maxCauses} and {@link maxCauseCharacters}; equal texts stand once in the message, but every cause stays. */
  invalid: (gk: { group: string; kind: string }, name: string, errors: readonly FieldError[]): StatusError => {
    const causes: StatusCause[] = [];
    const distinct = new Set<string>();
    let characters = 0;
    for (const error of errors) {
      if (causes.length === maxCauses || characters > maxCauseCharacters) break;
      const message = fieldErrorBody(error);
      causes.push({ reason: error.type, message, field: error.field });
      distinct.add(`${error.field}: ${message}`);
      characters += message.length;
    }
    const texts = [...distinct];
    if (causes.length < errors.length) texts.push(`and ${errors.length - causes.length} more errors`);
    const list = texts.length === 1 ? (texts[0] as string) : `[${texts.join(', ')}]`;
    const kind = gk.group === '' ? gk.kind : `${gk.kind}.${gk.group}`;
    return new StatusError({
      code: 422,
      reason: 'Invalid',
      message: `${kind} ${quote(name)} is invalid: ${list}`,
      details: {
        ...(name === '' ? {} : { name }),
        ...(gk.group === '' ? {} : { group: gk.group }),
        ...(gk.kind === '' ? {} : { kind: gk.kind }),
        causes,
      },
    });
  },
  methodNotAllowed: (verb: string, gr: GroupResource): StatusError =>
    new StatusError({
      code: 405,
      reason: 'MethodNotAllowed',
      message: `${verb} is not supported on resources of kind "${groupResourceText(gr)}"`,
      details: detailsOf(gr, ''),
    }),
  /** What a built-in path answers to a method it does not have. */
  methodNotOffered: (): StatusError =>
    new StatusError({
      code: 405,
      reason: 'MethodNotAllowed',
      message: 'the server does not allow this method on the requested resource',
      details: {},
    }),
  notAcceptable: (accepted: readonly string[]): StatusError =>
    new StatusError({
      code: 406,
      reason: 'NotAcceptable',
      message: `only the following media types are accepted: ${accepted.join(', ')}`,
    }),
  unsupportedMediaType: (accepted: readonly string[]): StatusError =>
    new StatusError({
      code: 415,
      reason: 'UnsupportedMediaType',
      message: `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
    }),
  tooLarge: (why: string): StatusError =>
    new StatusError({ code: 413, reason: 'RequestEntityTooLarge', message: `Request entity too large: ${why}` }),
  expired: (message: string, continueToken?: string): StatusError =>
    new StatusError({ code: 410, reason: 'Expired', message, continue: continueToken }),
  /** `Timeout: Too large resource version…`: the store has not reached the wanted revision in time. */
  tooLargeResourceVersion: (wanted: number, current: number): StatusError =>
    new StatusError({
      code: 504,
      reason: 'Timeout',
      message: `Timeout: Too large resource version: ${wanted}, current: ${current}`,
      details: {
        causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
        retryAfterSeconds: 1,
      },
    }),
  timeout: (message: string, retryAfterSeconds = 0): StatusError =>
    new StatusError({
      code: 504,
      reason: 'Timeout',
      message: `Timeout: ${message}`,
      ...(retryAfterSeconds > 0 ? { details: { retryAfterSeconds } } : {}),
    }),
  tooManyRequests: (message: string, retryAfterSeconds: number): StatusError =>
    new StatusError({ code: 429, reason: 'TooManyRequests', message, details: { retryAfterSeconds } }),
  serviceUnavailable: (message: string, retryAfterSeconds = 0): StatusError =>
    new StatusError({
      code: 503,
      reason: 'ServiceUnavailable',
      message,
      ...(retryAfterSeconds > 0 ? { details: { retryAfterSeconds } } : {}),
    }),
  internal: (cause: unknown): StatusError => {
    const message = cause instanceof Error ? cause.message : String(cause);
    return new StatusError({
      code: 500,
      reason: 'InternalError',
      message: `Internal error occurred: ${message}`,
      details: { causes: [{ message }] },
      cause,
    });
  },
  /** 500 with the text as it is and no reason: what upstream answers for an untyped Go error. */
  untyped: (message: string, code = 500): StatusError => new StatusError({ code, reason: '', message }),
};
