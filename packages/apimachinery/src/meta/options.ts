import { quote } from '../go/go-quote.ts';
import { fieldErrors, FieldPath, type FieldError } from '../validation/field-error.ts';
import { validateFieldManager } from '../validation/field-manager.ts';
import { isJsonObject, type Json } from '../json/json.ts';
import { jsonTypeName } from '../json/json-type-name.ts';
import { parseFieldSelector, type FieldSelector } from '../selectors/field-selector.ts';
import { parseLabelSelector, type LabelSelector } from '../selectors/label-selector.ts';
import { SelectorParseError } from '../selectors/selector-parse-error.ts';
import { statusErrors, type StatusError } from '../errors/status-error.ts';
import { parseInt64, StrconvError } from '../go/strconv.ts';

/** Where options come from: a parsed query (URLSearchParams fits). */
export interface Query {
  get(name: string): string | null;
  getAll(name: string): string[];
}

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';
export type PropagationPolicy = 'Foreground' | 'Background' | 'Orphan';

/** metav1.ListOptions, selectors parsed. */
export interface ListOptions {
  readonly labelSelector: LabelSelector;
  readonly fieldSelector: FieldSelector;
  readonly watch: boolean;
  readonly allowWatchBookmarks: boolean;
  readonly resourceVersion: string;
  readonly resourceVersionMatch: string;
  readonly timeoutSeconds: number | undefined;
  /** 0: no limit; negative numbers arrive as 0. */
  readonly limit: number;
  readonly continue: string;
  readonly sendInitialEvents: boolean | undefined;
}

/** metav1.CreateOptions, UpdateOptions and PatchOptions. */
export interface WriteOptions {
  readonly dryRun: boolean;
  /** Empty: take it from the User-Agent. */
  readonly fieldManager: string;
  readonly fieldValidation: FieldValidation;
  /** Server-side apply only. */
  readonly force: boolean;
}

/** metav1.DeleteOptions. */
export interface DeleteOptions {
  readonly dryRun: boolean;
  readonly gracePeriodSeconds: number | undefined;
  readonly preconditions:
    | { readonly uid?: string | undefined; readonly resourceVersion?: string | undefined }
    | undefined;
  readonly orphanDependents: boolean | undefined;
  readonly propagationPolicy: PropagationPolicy | undefined;
}

const at = (field: string): FieldPath => FieldPath.of(field);

/** A boolean of a query: absent, `0` and `false` in any case are false, everything else is true, `?watch` too. */
export function parseQueryBoolean(text: string | null): boolean {
  return text !== null && text !== '0' && text.toLowerCase() !== 'false';
}

const invalidOptions = (kind: string, errors: FieldError[]): StatusError =>
  statusErrors.invalid({ group: 'meta.k8s.io', kind }, '', errors);

/** Runs a decoder; what it cannot read is a 400 with its own text. */
function decode<T>(decoder: () => T): T {
  try {
    return decoder();
  } catch (error) {
    if (error instanceof StrconvError || error instanceof SelectorParseError)
      throw statusErrors.badRequest(error.message, error);
    throw error;
  }
}

const optionalInteger = (text: string | null): number | undefined => (text === null ? undefined : parseInt64(text));

/**
 * Options of a list or watch. Throws StatusError 400 for what cannot be read, 422 for what contradicts itself.
 * `isWatch` is the verb's word: the deprecated watch paths carry no `watch` parameter.
 */
export function decodeListOptions(query: Query, isWatch = false): ListOptions {
  const options = decode((): ListOptions => {
    const sendInitialEvents = query.get('sendInitialEvents');
    // Numbers are read with the query, selectors when these options are converted.
    const timeoutSeconds = optionalInteger(query.get('timeoutSeconds'));
    const limit = Math.max(0, optionalInteger(query.get('limit')) ?? 0);
    return {
      labelSelector: parseLabelSelector(query.get('labelSelector') ?? ''),
      fieldSelector: parseFieldSelector(query.get('fieldSelector') ?? ''),
      watch: isWatch || parseQueryBoolean(query.get('watch')),
      allowWatchBookmarks: parseQueryBoolean(query.get('allowWatchBookmarks')),
      resourceVersion: query.get('resourceVersion') ?? '',
      resourceVersionMatch: query.get('resourceVersionMatch') ?? '',
      timeoutSeconds,
      limit,
      continue: query.get('continue') ?? '',
      sendInitialEvents: sendInitialEvents === null ? undefined : parseQueryBoolean(sendInitialEvents),
    };
  });
  const defaulted = options.watch ? defaultWatchOptions(options) : options;
  const errors = options.watch ? validateWatchOptions(defaulted) : validateListOptions(options);
  if (errors.length > 0) throw invalidOptions('ListOptions', errors);
  return defaulted;
}

const matchPath = at('resourceVersionMatch');
const initialEventsPath = at('sendInitialEvents');

function validateListOptions(options: ListOptions): FieldError[] {
  const errors: FieldError[] = [];
  const { resourceVersionMatch: match } = options;
  if (match !== '') {
    if (options.resourceVersion === '') {
      errors.push(
        fieldErrors.forbidden(matchPath, 'resourceVersionMatch is forbidden unless resourceVersion is provided'),
      );
    }
    if (options.continue !== '')
      errors.push(fieldErrors.forbidden(matchPath, 'resourceVersionMatch is forbidden when continue is provided'));
    if (match !== 'Exact' && match !== 'NotOlderThan')
      errors.push(fieldErrors.notSupported(matchPath, match, ['Exact', 'NotOlderThan', '']));
    if (match === 'Exact' && options.resourceVersion === '0') {
      errors.push(
        fieldErrors.forbidden(matchPath, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'),
      );
    }
  }
  if (options.sendInitialEvents !== undefined) {
    errors.push(fieldErrors.forbidden(initialEventsPath, 'sendInitialEvents is forbidden for list'));
  }
  return errors;
}

function validateWatchOptions(options: ListOptions): FieldError[] {
  const errors: FieldError[] = [];
  const { resourceVersionMatch: match } = options;
  if (options.sendInitialEvents !== undefined && match !== 'NotOlderThan') {
    errors.push(
      fieldErrors.forbidden(matchPath, 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'),
    );
  }
  if (match !== '') {
    if (options.sendInitialEvents === undefined) {
      errors.push(
        fieldErrors.forbidden(
          matchPath,
          'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
        ),
      );
    }
    if (match !== 'NotOlderThan') errors.push(fieldErrors.notSupported(matchPath, match, ['NotOlderThan']));
    if (options.continue !== '')
      errors.push(fieldErrors.forbidden(matchPath, 'resourceVersionMatch is forbidden when continue is provided'));
  }
  return errors;
}

/** A watch from "now" of a client that knows nothing of initial events gets them: it expects the current state first. */
function defaultWatchOptions(options: ListOptions): ListOptions {
  const fromNow = options.resourceVersion === '' || options.resourceVersion === '0';
  if (!fromNow || options.resourceVersionMatch !== '' || options.sendInitialEvents !== undefined) return options;
  return { ...options, sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' };
}

const fieldValidations = ['', 'Ignore', 'Strict', 'Warn'];

/** Options of a write. `apply` distinguishes server-side apply from the other patches. Throws StatusError 422. */
export function decodeWriteOptions(
  query: Query,
  kind: 'CreateOptions' | 'UpdateOptions' | 'PatchOptions',
  apply = false,
): WriteOptions {
  const errors: FieldError[] = [];
  const fieldManager = query.get('fieldManager') ?? '';
  const force = query.get('force');
  if (kind === 'PatchOptions') {
    if (!apply && force !== null)
      errors.push(fieldErrors.forbidden(at('force'), 'may not be specified for non-apply patch'));
    if (apply && fieldManager === '')
      errors.push(fieldErrors.required(at('fieldManager'), 'is required for apply patch'));
  }
  if (fieldManager !== '') errors.push(...validateFieldManager(fieldManager, at('fieldManager')));
  const dryRun = query.getAll('dryRun');
  if (dryRun.length > 0) errors.push(...validateDryRun(dryRun));
  const fieldValidation = query.get('fieldValidation') ?? '';
  if (!fieldValidations.includes(fieldValidation)) {
    errors.push(fieldErrors.notSupported(at('fieldValidation'), fieldValidation, fieldValidations));
  }
  if (errors.length > 0) throw invalidOptions(kind, errors);
  return {
    dryRun: dryRun.length > 0,
    fieldManager,
    fieldValidation: fieldValidation === '' ? 'Warn' : (fieldValidation as FieldValidation),
    force: parseQueryBoolean(force),
  };
}

function validateDryRun(dryRun: readonly string[]): FieldError[] {
  return dryRun.every((value) => value === 'All') ? [] : [fieldErrors.notSupported(at('dryRun'), dryRun, ['All'])];
}

/** DeleteOptions without a body. Throws StatusError 400 or 422. */
export function decodeDeleteQuery(query: Query): DeleteOptions {
  const orphanDependents = query.get('orphanDependents');
  const policy = query.get('propagationPolicy');
  return checkDeleteOptions(query.getAll('dryRun'), policy === null || policy === '' ? undefined : policy, {
    gracePeriodSeconds: decode(() => optionalInteger(query.get('gracePeriodSeconds'))),
    preconditions: undefined,
    orphanDependents: orphanDependents === null ? undefined : parseQueryBoolean(orphanDependents),
  });
}

/**
 * DeleteOptions from a body that was parsed already. Any apiVersion passes, another kind does not. Throws StatusError
 * 400 or 422.
 */
export function decodeDeleteOptions(body: Json): DeleteOptions {
  if (!isJsonObject(body)) {
    if (body === null) return decodeDeleteOptions({});
    throw mismatch(body, 'DeleteOptions');
  }
  const kind = field(body['kind'], '.kind of type string', isString) ?? '';
  if (kind !== '' && kind !== 'DeleteOptions') {
    const version = field(body['apiVersion'], '.apiVersion of type string', isString) ?? '';
    throw statusErrors.badRequest(
      `no kind ${quote(kind)} is registered for version ${quote(version === '' ? 'meta.k8s.io/v1' : version)} in scheme "multiplane"`,
    );
  }
  const dryRun = (field(body['dryRun'], 'DeleteOptions.dryRun of type []string', Array.isArray) ?? []).map(
    (each: Json) => field(each, 'DeleteOptions.dryRun of type string', isString) ?? '',
  );
  const preconditions = field(
    body['preconditions'],
    'DeleteOptions.preconditions of type v1.Preconditions',
    isJsonObject,
  );
  return checkDeleteOptions(
    dryRun,
    field(body['propagationPolicy'], 'DeleteOptions.propagationPolicy of type v1.DeletionPropagation', isString),
    {
      gracePeriodSeconds: field(
        body['gracePeriodSeconds'],
        'DeleteOptions.gracePeriodSeconds of type int64',
        isInteger,
      ),
      orphanDependents: field(body['orphanDependents'], 'DeleteOptions.orphanDependents of type bool', isBoolean),
      preconditions: preconditions && {
        uid: field(preconditions['uid'], 'Preconditions.preconditions.uid of type types.UID', isString),
        resourceVersion: field(
          preconditions['resourceVersion'],
          'Preconditions.preconditions.resourceVersion of type string',
          isString,
        ),
      },
    },
  );
}

const isString = (value: Json): value is string => typeof value === 'string';
const isBoolean = (value: Json): value is boolean => typeof value === 'boolean';
const isInteger = (value: Json): value is number => Number.isInteger(value);

function field<T extends Json>(value: Json | undefined, what: string, is: (value: Json) => value is T): T | undefined {
  if (value === undefined || value === null) return undefined;
  if (!is(value)) throw mismatch(value, what);
  return value;
}

function mismatch(value: Json, what: string): StatusError {
  return statusErrors.badRequest(`json: cannot unmarshal ${jsonTypeName(value)} into Go struct field ${what}`);
}

const policies = ['Foreground', 'Background', 'Orphan'];

function checkDeleteOptions(
  dryRun: readonly string[],
  policy: string | undefined,
  rest: Omit<DeleteOptions, 'dryRun' | 'propagationPolicy'>,
): DeleteOptions {
  const errors: FieldError[] = [];
  const path = at('propagationPolicy');
  if (rest.orphanDependents !== undefined && policy !== undefined) {
    errors.push(fieldErrors.invalid(path, policy, 'orphanDependents and deletionPropagation cannot be both set'));
  }
  if (policy !== undefined && !policies.includes(policy))
    errors.push(fieldErrors.notSupported(path, policy, [...policies, 'nil']));
  errors.push(...validateDryRun(dryRun));
  if (errors.length > 0) throw invalidOptions('DeleteOptions', errors);
  return { ...rest, dryRun: dryRun.length > 0, propagationPolicy: policy as PropagationPolicy | undefined };
}
