import {
  formatTime,
  hexSha256,
  isStatusError,
  type GroupVersionResource,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import type { ObjectClient } from '../object-client.ts';
import type { Clock } from '@multiplane/component-base';

const events: GroupVersionResource = { group: '', version: 'v1', resource: 'events' };
/** Longer messages are cut, as in client-go. */
const maxMessageLength = 1_024;

/** The object that an event is about. `namespace` is empty for a cluster-scoped object: its events are in `default`. */
export interface EventSubject {
  readonly cluster: LogicalClusterName;
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

export interface NewEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  /** What distinguishes events of this subject; events with the same are one. Absent: reason and message. */
  readonly identity?: string;
}

/**
 * Creates events of a controller (client-go: tools/record). The name of an event follows from its subject and identity, so a
 * repeated pass, another replica or a restart finds the event instead of adding another one; with `counts` it then raises the
 * count and the last timestamp. An event that cannot be created for a reason that will not pass is dropped: the namespace or the
 * workspace is being deleted, or its quota is exceeded.
 */
export class EventRecorder {
  readonly #options: { readonly component: string; readonly counts: boolean };
  readonly #modules: { readonly client: ObjectClient; readonly clock: Clock };

  constructor(
    options: { readonly component: string; readonly counts: boolean },
    modules: { readonly client: ObjectClient; readonly clock: Clock },
  ) {
    this.#options = options;
    this.#modules = modules;
  }

  /** Throws what the API throws, except for errors that a retry would meet again. */
  async record(subject: EventSubject, { type, reason, message, identity }: NewEvent): Promise<void> {
    const { component, counts } = this.#options;
    const { client, clock } = this.#modules;
    const { cluster, apiVersion, kind, namespace, name, uid } = subject;
    const time = formatTime(new Date(clock.now()));
    const suffix = hexSha256(`${uid} ${identity ?? `${reason} ${message}`}`).slice(0, 16);
    const location = { cluster, namespace: namespace === '' ? 'default' : namespace, name: `${name}.${suffix}` };
    const event = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: location.name, namespace: location.namespace },
      involvedObject: { apiVersion, kind, ...(namespace === '' ? {} : { namespace }), name, uid },
      type,
      reason,
      message: message.slice(0, maxMessageLength),
      source: { component },
      reportingComponent: component,
      reportingInstance: '',
      firstTimestamp: time,
      lastTimestamp: time,
      count: 1,
    };
    try {
      await client.create(events, cluster, event);
    } catch (error) {
      if (!isStatusError(error) || !expectedReasons.has(error.reason)) throw error;
      if (!counts || error.reason !== 'AlreadyExists') return;
      const { count = 1 } = (await client.get(events, location)) as { count?: number };
      await client.patch(events, location, 'application/merge-patch+json', { count: count + 1, lastTimestamp: time });
    }
  }
}

const expectedReasons = new Set(['AlreadyExists', 'NotFound', 'Forbidden']);
