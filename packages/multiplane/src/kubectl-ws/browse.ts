import { isStatusError, type GroupVersionResource, type KubeObject } from '@multiplane/apimachinery';
import { use, type CommandModules } from './commands.ts';
import type { WorkspaceApis } from './browser-node.ts';
import { parseKeys, TreeBrowser, type Outcome, type TreeSource } from './tree-browser.ts';
import type { WorkspaceClient } from './workspace-client.ts';
import { parseWorkspaceUrl } from './workspace-url.ts';

/** A terminal, as `process.stdin` and `process.stdout`. */
export interface Terminal {
  readonly input: AsyncIterable<string | Buffer> & { readonly isTTY?: boolean; setRawMode?(isRaw: boolean): unknown };
  readonly output: {
    readonly isTTY?: boolean;
    readonly columns?: number;
    readonly rows?: number;
    write(text: string): unknown;
  };
}

const enterScreen = '\u001B[?1049h\u001B[?25l';
const leaveScreen = '\u001B[?25h\u001B[?1049l';
const clear = '\u001B[H\u001B[2J';

/** `kubectl ws -i`: shows the workspace tree full-screen, and switches to the workspace that the user selects. */
export async function browse(modules: CommandModules, { input, output }: Terminal): Promise<void> {
  if (input.isTTY !== true || output.isTTY !== true) throw new Error('interactive mode needs a terminal');
  const source = sourceOf(modules.client);
  const browser = await TreeBrowser.open({ current: parseWorkspaceUrl(modules.url).path }, { source });
  const redraw = (): unknown => {
    const frame = browser.render({ columns: output.columns ?? 80, rows: output.rows ?? 24 });
    return output.write(clear + frame);
  };
  let outcome: Outcome = 'quit';
  input.setRawMode?.(true);
  output.write(enterScreen);
  try {
    redraw();
    for await (const chunk of input) {
      outcome = 'continue';
      for (const key of parseKeys(chunk.toString())) {
        outcome = await browser.press(key);
        if (outcome !== 'continue') break;
      }
      if (outcome !== 'continue') break;
      redraw();
    }
  } finally {
    output.write(leaveScreen);
    input.setRawMode?.(false);
  }
  if (typeof outcome === 'object') await use(`:${outcome.enter}`, false, modules);
}

const ofApis = (version: string, resource: string): GroupVersionResource => ({
  group: 'apis.kcp.io',
  version,
  resource,
});

function sourceOf(client: WorkspaceClient): TreeSource {
  const list = async (resource: GroupVersionResource, path: string): Promise<readonly KubeObject[]> => {
    try {
      return await client.objects.list(resource, path);
    } catch (error) {
      // Resources that the user may not list are omitted.
      if (isStatusError(error)) return [];
      throw error;
    }
  };
  return {
    children: async (path) => (await client.list(path)).filter(({ isDeleting }) => !isDeleting),
    apis: async (path): Promise<WorkspaceApis> => {
      const [exports, slices, bindings] = await Promise.all([
        list(ofApis('v1alpha2', 'apiexports'), path),
        list(ofApis('v1alpha1', 'apiexportendpointslices'), path),
        list(ofApis('v1alpha2', 'apibindings'), path),
      ]);
      return {
        exports: exports.map(nameOf),
        endpointSlices: slices.map((slice) => {
          const count = (value(slice, 'status', 'endpoints') as readonly unknown[] | undefined)?.length ?? 0;
          return `${nameOf(slice)} → ${referenceText(value(slice, 'spec', 'export'))} (${count} endpoints)`;
        }),
        bindings: bindings.map((binding) => ({
          name: nameOf(binding),
          exportReference: referenceText(value(binding, 'spec', 'reference', 'export')),
          resources: (
            (value(binding, 'status', 'boundResources') ?? []) as {
              readonly group?: string;
              readonly resource: string;
            }[]
          ).map(({ group = '', resource }) => (group === '' ? resource : `${resource}.${group}`)),
        })),
      };
    },
  };
}

const nameOf = ({ metadata }: KubeObject): string => metadata.name ?? '';

function value(object: KubeObject, ...names: readonly string[]): unknown {
  let current: unknown = object;
  for (const name of names) current = isRecord(current) ? current[name] : undefined;
  return current;
}

const isRecord = (candidate: unknown): candidate is Record<string, unknown> =>
  typeof candidate === 'object' && candidate !== null;

function referenceText(reference: unknown): string {
  const { path = '', name = '' } = (reference ?? {}) as { readonly path?: string; readonly name?: string };
  return path === '' ? name : `${path}:${name}`;
}
