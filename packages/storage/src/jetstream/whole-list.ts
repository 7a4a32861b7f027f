import type { ListedKeys } from './relist-requests.ts';
import type { StoredMessage } from './stream-client.ts';
import { recordOf } from './stream-records.ts';
import type { StreamSubjects } from './stream-subjects.ts';
import { UnheldMessages } from './unheld-messages.ts';

/** What a list of the whole stream says about its messages. */
export class WholeList implements ListedKeys {
  readonly unheld: UnheldMessages;
  readonly counts = new Map<string, number>();
  readonly #subjects: StreamSubjects;
  through = 0;

  constructor(modules: { readonly subjects: StreamSubjects }) {
    this.#subjects = modules.subjects;
    this.unheld = new UnheldMessages(modules);
  }

  /** `through`: the last sequence of the stream. Until then each key has one message. */
  begin(through: number): void {
    this.through = through;
  }

  /** Messages in the order of the stream. */
  observe(messages: readonly StoredMessage[]): void {
    this.unheld.observe(messages);
    for (const message of messages) {
      if (message.sequence > this.through) return;
      if (this.#subjects.isInternal(message.subject) || recordOf(message).removed) continue;
      const resource = this.#subjects.resourceOf(message.subject);
      this.counts.set(resource, (this.counts.get(resource) ?? 0) + 1);
    }
  }
}
