import { draw, type Screen } from './tree-browser-screen.ts';
import type { WorkspaceView } from './workspace-client.ts';

/** What a workspace offers and uses, as the browser shows it beside the tree. */
export interface SharedApis {
  readonly exports: readonly string[];
  readonly endpointSlices: readonly string[];
  /** Each with the export it is of and the resources it brings. */
  readonly bindings: readonly { readonly name: string; readonly of: string; readonly resources: readonly string[] }[];
}

/** Where the browser looks. */
export interface TreeSource {
  /** Workspaces right below one; throws where the caller may not list them. */
  children(path: string): Promise<readonly WorkspaceView[]>;
  apis(path: string): Promise<SharedApis>;
}

export interface BrowserNode {
  readonly name: string;
  readonly path: string;
  readonly depth: number;
  readonly type: string | undefined;
  /** Undefined until it was looked at. */
  children: readonly BrowserNode[] | undefined;
  apis: SharedApis | undefined;
  isOpen: boolean;
}

export type Outcome = 'go on' | 'quit' | { readonly enter: string };

/**
 * The tree of `kubectl ws -i` (C13.3): a list of those workspaces whose parents are open, one of them chosen. Nothing is
 * asked before it is shown: children when their parent is opened, APIs when the workspace is chosen. It begins at the top
 * of the current path, opened down to the current workspace; ancestors that may not be listed show the way only.
 */
export class TreeBrowser {
  readonly #source: TreeSource;
  readonly #current: string;
  readonly #root: BrowserNode;
  #chosen: BrowserNode;
  private constructor(current: string, source: TreeSource) {
    this.#source = source;
    this.#current = current;
    const top = current.split(':')[0] as string;
    this.#root = node(top, top, 0, top === 'root' ? 'root' : undefined);
    this.#chosen = this.#root;
  }

  static async open(
    options: { readonly current: string },
    modules: { readonly source: TreeSource },
  ): Promise<TreeBrowser> {
    const browser = new TreeBrowser(options.current, modules.source);
    await browser.#openPath();
    await browser.#choose(browser.#chosen);
    return browser;
  }

  async press(key: Key): Promise<Outcome> {
    const chosen = this.#chosen;
    switch (key) {
      case 'quit':
        return 'quit';
      case 'enter':
        return { enter: chosen.path };
      case 'up':
        await this.#move(-1);
        break;
      case 'down':
        await this.#move(1);
        break;
      case 'open':
        await this.#open(chosen);
        break;
      case 'close':
        chosen.isOpen = false;
        break;
      case 'toggle':
        if (chosen.isOpen) chosen.isOpen = false;
        else await this.#open(chosen);
        break;
      case 'other':
    }
    return 'go on';
  }

  /** The whole screen as text, lines separated by newlines. */
  frame(screen: Screen): string {
    return draw({ nodes: this.#visible(), chosen: this.#chosen, current: this.#current }, screen);
  }

  #visible(from: BrowserNode = this.#root): BrowserNode[] {
    return [from, ...(from.isOpen ? (from.children ?? []).flatMap((child) => this.#visible(child)) : [])];
  }

  async #move(by: number): Promise<void> {
    const nodes = this.#visible();
    const next = nodes[nodes.indexOf(this.#chosen) + by];
    if (next !== undefined) await this.#choose(next);
  }

  async #choose(chosen: BrowserNode): Promise<void> {
    this.#chosen = chosen;
    chosen.apis ??= await this.#source.apis(chosen.path);
  }

  async #open(parent: BrowserNode): Promise<void> {
    parent.children ??= await this.#source.children(parent.path).then(
      (children) => children.map((child) => childOf(parent, child)),
      () => [],
    );
    parent.isOpen = parent.children.length > 0;
  }

  async #openPath(): Promise<void> {
    const [, ...names] = this.#current.split(':');
    for (const name of names) {
      const parent = this.#chosen;
      await this.#open(parent);
      let child = (parent.children ?? []).find((candidate) => candidate.name === name);
      if (child === undefined) {
        child = node(name, `${parent.path}:${name}`, parent.depth + 1, undefined);
        parent.children = [...(parent.children ?? []), child];
        parent.isOpen = true;
      }
      this.#chosen = child;
    }
    await this.#open(this.#chosen);
  }
}

function node(name: string, path: string, depth: number, type: string | undefined): BrowserNode {
  return { name, path, depth, type, children: undefined, apis: undefined, isOpen: false };
}

const childOf = (parent: BrowserNode, { name, type }: WorkspaceView): BrowserNode =>
  node(name, `${parent.path}:${name}`, parent.depth + 1, type);

export type Key = 'up' | 'down' | 'open' | 'close' | 'toggle' | 'enter' | 'quit' | 'other';

const keys: Readonly<Record<string, Key>> = {
  '\u001B[A': 'up',
  k: 'up',
  '\u001B[B': 'down',
  j: 'down',
  '\u001B[C': 'open',
  l: 'open',
  '\u001B[D': 'close',
  h: 'close',
  '\u007F': 'close',
  ' ': 'toggle',
  '\r': 'enter',
  '\n': 'enter',
  q: 'quit',
  '\u0003': 'quit',
  '\u001B': 'quit',
};

/** The keys in what a terminal sent; one chunk may hold several. */
export function keysOf(input: string): Key[] {
  // eslint-disable-next-line no-control-regex -- keys that move begin with the escape character
  return (input.match(/\u001B\[[A-Z]|[^]/gu) ?? []).map((text) => keys[text] ?? 'other');
}
