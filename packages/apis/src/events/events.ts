import type { DeepReadonly, KubeObject } from '@multiplane/apimachinery';
import { builtInKind, builtInStorage } from '../built-in-kind.ts';
import { defaultStrategy } from '../default-strategy.ts';
import { textAt } from '../fields.ts';
import { pathSegmentName, subdomainName } from '../name-rules.ts';
import type { FieldSelectorLabels, ResourceDefinition, Strategy } from '../resource-definition.ts';
import { coreEventComponent, eventComponent, eventConverter } from './event-conversion.ts';
import { coreEventTable, eventTable, inCoreForm } from './event-table.ts';
import { commonEventErrors, eventChangeErrors, newEventErrors } from './event-validation.ts';

export interface EventOptions {
  /** Seconds after its last write at which an event disappears. */
  readonly eventTtlSeconds: number;
}

const coreEvent = { group: '', version: 'v1', kind: 'Event' };
const referenceFields = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'];

const eventStrategy = (options: EventOptions, overrides: Partial<Strategy>): Strategy =>
  defaultStrategy({
    allowCreateOnUpdate: true,
    garbageCollected: false,
    ttlSeconds: options.eventTtlSeconds,
    ...overrides,
  });

/** core/v1 events: the stored form. */
export function coreEvents(options: EventOptions): ResourceDefinition {
  return builtInKind({
    ...coreEvent,
    resource: 'events',
    shortNames: ['ev'],
    namespaced: true,
    component: coreEventComponent,
    strategy: eventStrategy(options, {
      // Only the registry validates metadata.
      metadataChecks: { standardFinalizers: false, onCreate: ['kind'], onUpdate: [] },
      validateName: pathSegmentName,
      validate: (_context, object) => commonEventErrors(object, 'reportingComponent'),
      validateUpdate: (_context, object) => commonEventErrors(object, 'reportingComponent'),
    }),
    fieldSelectors: {
      ...selectors('involvedObject'),
      source: (object) => textAt(object, 'source', 'component') || textAt(object, 'reportingComponent'),
      reportingComponent: (object) => textAt(object, 'reportingComponent'),
    },
    table: coreEventTable,
  });
}

/** events.k8s.io/v1: other names and stricter rules for the same objects. */
export function events(options: EventOptions): ResourceDefinition {
  return builtInKind({
    group: 'events.k8s.io',
    version: 'v1',
    kind: 'Event',
    resource: 'events',
    shortNames: ['ev'],
    namespaced: true,
    component: eventComponent,
    strategy: eventStrategy(options, {
      metadataChecks: { standardFinalizers: true, onCreate: ['kind', 'object'], onUpdate: ['kind', 'update'] },
      validateName: subdomainName,
      validate: (_context, object) => {
        const core = inCoreForm(object);
        return [...commonEventErrors(core, 'reportingController'), ...newEventErrors(core)];
      },
      validateUpdate: (_context, object, old) => {
        const core = inCoreForm(object);
        return [...commonEventErrors(core, 'reportingController'), ...eventChangeErrors(core, inCoreForm(old))];
      },
    }),
    fieldSelectors: {
      ...selectors('regarding'),
      reportingController: (object) => textAt(object, 'reportingController'),
    },
    table: eventTable,
    storage: builtInStorage(coreEvent, 'events'),
    converter: eventConverter,
  });
}

function selectors(reference: string): FieldSelectorLabels {
  const labels: Record<string, (object: DeepReadonly<KubeObject>) => string> = {
    reason: (object) => textAt(object, 'reason'),
    type: (object) => textAt(object, 'type'),
  };
  for (const field of referenceFields) {
    labels[`${reference}.${field}`] = (object) => textAt(object, reference, field);
  }
  return labels;
}
