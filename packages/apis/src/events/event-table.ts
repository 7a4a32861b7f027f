import {
  ageSince,
  asJson,
  deepCopy,
  type DeepReadonly,
  type JsonObject,
  type KubeObject,
} from '@multiplane/apimachinery';
import { numberAt, objectAt, textAt } from '../fields.ts';
import type { TableConvertor } from '../table-convertor.ts';
import { column } from '../tables/columns.ts';
import { eventConverter } from './event-conversion.ts';

/** The table of events, from objects in the form of core/v1. */
export const coreEventTable: TableConvertor = {
  columns: [
    column('Last Seen', { description: 'When it last happened.' }),
    column('Type', { description: 'Normal or Warning.' }),
    column('Reason', { description: 'Short word for the cause.' }),
    column('Object', { description: 'The object the event is about.' }),
    column('Subobject', { priority: 1, description: 'The part of the object the event is about.' }),
    column('Source', { priority: 1, description: 'Who reported it.' }),
    column('Message', { description: 'What happened, for humans.' }),
    column('First Seen', { priority: 1, description: 'When it first happened.' }),
    column('Count', { priority: 1, description: 'How often it happened.' }),
    column('Name', { priority: 1, format: 'name', description: 'Name of the event.' }),
  ],
  cells: (object, now) => {
    const since = (...path: string[]): string => ageSince(textAt(object, ...path) || undefined, now);
    const has = (field: string): boolean => textAt(object, field) !== '';
    const first = since(has('firstTimestamp') ? 'firstTimestamp' : 'eventTime');
    const inSeries = objectAt(object, 'series') !== undefined;
    const last = inSeries ? since('series', 'lastObservedTime') : has('lastTimestamp') ? since('lastTimestamp') : first;
    const count = inSeries ? numberAt(object, 'series', 'count') : numberAt(object, 'count') || 1;
    const kind = textAt(object, 'involvedObject', 'kind').toLowerCase();
    const name = textAt(object, 'involvedObject', 'name');
    const instance = textAt(object, 'source', 'host') || textAt(object, 'reportingInstance');
    const reporter = textAt(object, 'source', 'component') || textAt(object, 'reportingComponent');
    return [
      last,
      textAt(object, 'type'),
      textAt(object, 'reason'),
      name === '' ? kind : `${kind}/${name}`,
      textAt(object, 'involvedObject', 'fieldPath'),
      instance === '' ? reporter : `${reporter}, ${instance}`,
      textAt(object, 'message').trim(),
      first,
      Number(count ?? 0),
      object.metadata.name ?? '',
    ];
  },
};

/** The same for objects in the form of events.k8s.io/v1. */
export const eventTable: TableConvertor = {
  columns: coreEventTable.columns,
  cells: (object, now) => coreEventTable.cells(inCoreForm(object), now),
};

/** A copy in the form of core/v1. */
export function inCoreForm(object: DeepReadonly<KubeObject>): KubeObject {
  const copy = deepCopy<JsonObject>(asJson(object as KubeObject)) as unknown as KubeObject;
  eventConverter.toStorage(copy);
  return copy;
}
