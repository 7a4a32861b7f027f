import {
  asJson,
  deepEqual,
  getOwn,
  isJsonObject,
  fieldErrors,
  validateQualifiedName,
  type DeepReadonly,
  type FieldError,
  type Json,
  type KubeObject,
} from '@multiplane/apimachinery';
import { at, numberAt, objectAt, textAt } from '../fields.ts';

const maxWord = 128;
const maxNote = 1024;

/**
 * What holds for events of both groups. `object` has the form of core/v1; `controllerField` is the name under which
 * messages know the reporting controller.
 */
export function commonEventErrors(object: DeepReadonly<KubeObject>, controllerField: string): FieldError[] {
  const errors: FieldError[] = [];
  const namespace = object.metadata.namespace ?? '';
  const involved = textAt(object, 'involvedObject', 'namespace');
  const modern = typeof at(object, 'eventTime') === 'string';
  const anywhere = modern ? ['default', 'kube-system'] : ['', 'default'];
  const fits = involved === '' ? anywhere.includes(namespace) : modern || involved === namespace;
  if (!fits) {
    errors.push(fieldErrors.invalid('involvedObject.namespace', involved, 'does not match event.namespace'));
  }
  if (!modern) return errors;
  const controller = textAt(object, 'reportingComponent');
  if (controller === '') errors.push(fieldErrors.required(controllerField));
  errors.push(
    ...validateQualifiedName(controller).map((message) => fieldErrors.invalid(controllerField, controller, message)),
  );
  for (const field of ['reportingInstance', 'action', 'reason']) {
    const text = textAt(object, field);
    if (text === '') errors.push(fieldErrors.required(field));
    if (text.length > maxWord) errors.push(fieldErrors.invalid(field, '', `can have at most ${maxWord} characters`));
  }
  if (textAt(object, 'message').length > maxNote) {
    errors.push(fieldErrors.invalid('message', '', `can have at most ${maxNote} characters`));
  }
  return errors;
}

/** What events.k8s.io/v1 asks of a new event besides; in the form of core/v1. */
export function newEventErrors(object: DeepReadonly<KubeObject>): FieldError[] {
  const errors = seriesErrors(object);
  if (typeof at(object, 'eventTime') !== 'string') errors.push(fieldErrors.required('eventTime'));
  const type = textAt(object, 'type');
  if (type !== 'Normal' && type !== 'Warning')
    errors.push(fieldErrors.invalid('type', '', `has invalid value: ${type}`));
  const unset = (field: string): FieldError => fieldErrors.invalid(field, '', 'needs to be unset');
  for (const field of ['firstTimestamp', 'lastTimestamp']) {
    if (typeof at(object, field) === 'string') errors.push(unset(field));
  }
  if ((numberAt(object, 'count') ?? 0) !== 0) errors.push(unset('count'));
  if (textAt(object, 'source', 'component') !== '' || textAt(object, 'source', 'host') !== '')
    errors.push(unset('source'));
  return errors;
}

const fixedFields = [
  'involvedObject',
  'reason',
  'message',
  'source',
  'firstTimestamp',
  'lastTimestamp',
  'count',
  // Listed twice by Kubernetes too.
  'reason',
  'type',
  'eventTime',
  'action',
  'related',
  'reportingComponent',
  'reportingInstance',
];

/** events.k8s.io/v1 lets nothing change but the series and the metadata; both in the form of core/v1. */
export function eventChangeErrors(object: DeepReadonly<KubeObject>, old: DeepReadonly<KubeObject>): FieldError[] {
  const now = asJson(object as KubeObject);
  const before = asJson(old as KubeObject);
  const errors = deepEqual(now['series'], before['series']) ? [] : seriesErrors(object);
  for (const field of fixedFields) {
    if (deepEqual(now[field], before[field])) continue;
    const name = field === 'reportingComponent' ? 'reportingController' : field;
    errors.push(fieldErrors.invalid(name, shownField(field, now[field]), 'field is immutable'));
  }
  return errors;
}

/** Fields of the internal structs, which messages show with their Go names; they have no JSON names. */
const references = [
  ['Kind', 'kind'],
  ['Namespace', 'namespace'],
  ['Name', 'name'],
  ['UID', 'uid'],
  ['APIVersion', 'apiVersion'],
  ['ResourceVersion', 'resourceVersion'],
  ['FieldPath', 'fieldPath'],
] as const;
const structs: Readonly<Record<string, readonly (readonly [name: string, field: string])[]>> = {
  involvedObject: references,
  related: references,
  source: [
    ['Component', 'component'],
    ['Host', 'host'],
  ],
};
const zeros: Readonly<Record<string, Json>> = {
  firstTimestamp: null,
  lastTimestamp: null,
  eventTime: null,
  related: null,
  count: 0,
  source: {},
};

/** A field as messages show it: the JSON of Kubernetes' internal type. */
function shownField(field: string, value: Json | undefined): Json {
  const shown = value ?? zeros[field] ?? (Object.hasOwn(zeros, field) ? null : '');
  const names = structs[field];
  if (names === undefined || !isJsonObject(shown)) return shown;
  return Object.fromEntries(names.map(([name, member]) => [name, getOwn(shown, member) ?? '']));
}

function seriesErrors(object: DeepReadonly<KubeObject>): FieldError[] {
  const series = objectAt(object, 'series');
  if (series === undefined) return [];
  const errors: FieldError[] = [];
  if ((numberAt(series, 'count') ?? 0) < 2)
    errors.push(fieldErrors.invalid('series.count', '', 'should be at least 2'));
  if (typeof at(series, 'lastObservedTime') !== 'string') {
    errors.push(fieldErrors.required('series.lastObservedTime'));
  }
  return errors;
}
