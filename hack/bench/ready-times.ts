import type { JsonObject } from '@multiplane/apimachinery';
import type { RestTransport } from '@multiplane/client';
import { newWorkspace, post, workspacesIn } from './load.ts';
import { WatchTimes } from './watch-times.ts';

interface WorkspaceEvent {
  readonly object: { readonly metadata: { readonly name: string }; readonly status?: { readonly phase?: string } };
}

export interface ReadyTimesOptions {
  /** Logical cluster of their parent. */
  readonly parent?: string | undefined;
  readonly spec?: JsonObject | undefined;
}

/** Makes workspaces of type universal, and notes by a watch how long after it was asked for each is Ready. */
export class ReadyTimes extends WatchTimes<WorkspaceEvent> {
  readonly #transport: RestTransport;
  readonly #prefix: string;
  readonly #path: string;
  readonly #spec: JsonObject;

  constructor(transport: RestTransport, prefix: string, { parent = 'root', spec = {} }: ReadyTimesOptions = {}) {
    const path = workspacesIn(parent);
    super(
      {
        path: `${path}?labelSelector=bench%3D${prefix}`,
        ends: ({ object }) => (object.status?.phase === 'Ready' ? object.metadata.name : undefined),
      },
      { transport },
    );
    this.#transport = transport;
    this.#prefix = prefix;
    this.#path = path;
    this.#spec = spec;
  }

  async make(index: number): Promise<void> {
    const workspace = newWorkspace(this.#prefix, index, this.#spec);
    this.begin(workspace.metadata.name);
    await post(this.#transport, this.#path, workspace);
  }
}
