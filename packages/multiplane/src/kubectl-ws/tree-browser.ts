import type { BrowserNode, WorkspaceApis } from './browser-node.ts';
import { renderTreeBrowser, type Screen } from './tree-browser-renderer.ts';
import type { WorkspaceView } from './workspace-client.ts';

/** The data source of the browser. */
export interface TreeSource {
  /** The child workspaces; throws when the user may not list them. */
  children(path: string): Promise<readonly WorkspaceView[]>;
  apis(path: string): Promise<WorkspaceApis>;
}

export type Outcome = 'continue' | 'quit' | { readonly enter: string };

/**
 * The model of `kubectl ws -i`: a tree of workspaces, one of which is selected. Data is loaded on demand: children when their
 * parent is expanded, APIs when the workspace is selected. Initially the tree is expanded from the root of the current path
 * down to the current workspace; of ancestors that the user may not list, only the child on that path is shown.
 */
export class TreeBrowser {
  readonly #source: TreeSource;
  readonly #current: string;
  readonly #root: BrowserNode;
  #selected: BrowserNode;
  private constructor(current: string, source: TreeSource) {
    this.#source = source;
    this.#current = current;
    const top = current.split(':')[0] as string;
    this.#root = newNode(top, top, 0, top === 'root' ? 'root' : undefined);
    this.#selected = this.#root;
  }

  static async open(
    options: { readonly current: string },
    modules: { readonly source: TreeSource },
  ): Promise<TreeBrowser> {
    const browser = new TreeBrowser(options.current, modules.source);
    await browser.#expandCurrentPath();
    await browser.#select(browser.#selected);
    return browser;
  }

  async press(key: Key): Promise<Outcome> {
    const selected = this.#selected;
    switch (key) {
      case 'quit':
        return 'quit';
      case 'enter':
        return { enter: selected.path };
      case 'up':
        await this.#move(-1);
        break;
      case 'down':
        await this.#move(1);
        break;
      case 'open':
        await this.#expand(selected);
        break;
      case 'close':
        selected.isOpen = false;
        break;
      case 'toggle':
        if (selected.isOpen) selected.isOpen = false;
        else await this.#expand(selected);
        break;
      case 'other':
    }
    return 'continue';
  }

  /** The screen as text. */
  render(screen: Screen): string {
    return renderTreeBrowser({ nodes: this.#visible(), selected: this.#selected, current: this.#current }, screen);
  }

  #visible(from: BrowserNode = this.#root): BrowserNode[] {
    return [from, ...(from.isOpen ? (from.children ?? []).flatMap((child) => this.#visible(child)) : [])];
  }

  async #move(by: number): Promise<void> {
    const nodes = this.#visible();
    const next = nodes[nodes.indexOf(this.#selected) + by];
    if (next !== undefined) await this.#select(next);
  }

  async #select(node: BrowserNode): Promise<void> {
    this.#selected = node;
    node.apis ??= await this.#source.apis(node.path);
  }

  async #expand(parent: BrowserNode): Promise<void> {
    parent.children ??= await this.#source.children(parent.path).then(
      (children) => children.map((child) => childOf(parent, child)),
      () => [],
    );
    parent.isOpen = parent.children.length > 0;
  }

  async #expandCurrentPath(): Promise<void> {
    const [, ...names] = this.#current.split(':');
    for (const name of names) {
      const parent = this.#selected;
      await this.#expand(parent);
      let child = (parent.children ?? []).find((candidate) => candidate.name === name);
      if (child === undefined) {
        child = newNode(name, `${parent.path}:${name}`, parent.depth + 1, undefined);
        parent.children = [...(parent.children ?? []), child];
        parent.isOpen = true;
      }
      this.#selected = child;
    }
    await this.#expand(this.#selected);
  }
}

function newNode(name: string, path: string, depth: number, type: string | undefined): BrowserNode {
  return { name, path, depth, type, children: undefined, apis: undefined, isOpen: false };
}

const childOf = (parent: BrowserNode, { name, type }: WorkspaceView): BrowserNode =>
  newNode(name, `${parent.path}:${name}`, parent.depth + 1, type);

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

/** The keys of a chunk of terminal input. */
export function parseKeys(input: string): Key[] {
  // eslint-disable-next-line no-control-regex -- cursor keys start with the escape character
  return (input.match(/\u001B\[[A-Z]|[^]/gu) ?? []).map((text) => keys[text] ?? 'other');
}
