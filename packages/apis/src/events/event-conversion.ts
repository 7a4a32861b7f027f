import { asJson, setOwn, type JsonObject, type KubeObject } from '@multiplane/apimachinery';
import type { VersionConverter } from '../resource-definition.ts';
import { fillZeros, normalizeTyped } from '../schemas/typed-decoding.ts';
import { shapeOf } from '../schemas/typed-shape.ts';

/** Fields that events.k8s.io/v1 and core/v1 name differently; everything else has the same name in both. */
const names: readonly (readonly [events: string, core: string])[] = [
  ['regarding', 'involvedObject'],
  ['note', 'message'],
  ['reportingController', 'reportingComponent'],
  ['deprecatedSource', 'source'],
  ['deprecatedFirstTimestamp', 'firstTimestamp'],
  ['deprecatedLastTimestamp', 'lastTimestamp'],
  ['deprecatedCount', 'count'],
];

export const coreEventComponent = 'io.k8s.api.core.v1.Event';
export const eventComponent = 'io.k8s.api.events.v1.Event';

/** Events are stored in the form of core/v1. */
export const eventConverter: VersionConverter = {
  toStorage: (object) => rename(object, 0, 1, coreEventComponent),
  fromStorage: (object) => rename(object, 1, 0, eventComponent),
};

function rename(object: KubeObject, from: 0 | 1, to: 0 | 1, component: string): void {
  const json: JsonObject = asJson(object);
  for (const name of names) {
    const value = json[name[from]];
    if (value === undefined) continue;
    delete json[name[from]];
    setOwn(json, name[to], value);
  }
  // What one form leaves out when it is empty the other writes.
  const shape = shapeOf(component);
  normalizeTyped(json, shape);
  fillZeros(json, shape);
}
