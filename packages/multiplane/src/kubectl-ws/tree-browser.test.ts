import { beforeEach, describe, expect, test } from '@jest/globals';
import { parseKeys, TreeBrowser, type TreeSource } from './tree-browser.ts';

const children: Readonly<Record<string, readonly string[]>> = {
  root: ['a', 'b'],
  'root:a': ['deep'],
  'root:a:deep': [],
  'root:b': [],
};

describe('tree browser', () => {
  let asked: string[];
  let source: TreeSource;
  const screen = { columns: 70, rows: 24 };
  /** What is drawn, without the line of help. */
  const lines = (browser: TreeBrowser, size = screen): string[] => browser.render(size).split('\n').slice(0, -2);
  const press = async (browser: TreeBrowser, input: string): Promise<unknown> => {
    let outcome: unknown;
    for (const key of parseKeys(input)) outcome = await browser.press(key);
    return outcome;
  };

  beforeEach(() => {
    asked = [];
    source = {
      children: (path) => {
        asked.push(path);
        const names = children[path];
        if (names === undefined) return Promise.reject(new Error('forbidden'));
        return Promise.resolve(
          names.map((name) => ({
            name,
            type: 'root:universal',
            phase: 'Ready',
            unmetCondition: undefined,
            url: '',
            isDeleting: false,
            isMounted: false,
          })),
        );
      },
      apis: (path) =>
        Promise.resolve(
          path === 'root:b'
            ? {
                exports: ['cowboys'],
                endpointSlices: ['cowboys → root:b:cowboys (1 endpoints)'],
                bindings: [
                  { name: 'tenancy', exportReference: 'root:tenancy.kcp.io', resources: ['workspaces.tenancy.kcp.io'] },
                ],
              }
            : { exports: [], endpointSlices: [], bindings: [] },
        ),
    };
  });

  test('starts at the current workspace, with its path expanded', async () => {
    const browser = await TreeBrowser.open({ current: 'root:a' }, { source });
    expect(lines(browser)).toEqual([
      'Workspaces   root:a | root:universal',
      '',
      '  ▼ root',
      '→   ▼ a *',
      '      ▶ deep',
      '    ▶ b',
    ]);
    expect(asked).toEqual(['root', 'root:a']);
  });

  test('moves, expands and collapses; loads nothing twice', async () => {
    const browser = await TreeBrowser.open({ current: 'root' }, { source });
    await press(browser, 'j\u001B[C');
    expect(lines(browser).slice(2)).toEqual(['  ▼ root *', '→   ▼ a', '      ▶ deep', '    ▶ b']);
    await press(browser, '  ');
    await press(browser, 'h');
    expect(lines(browser).slice(2)).toEqual(['  ▼ root *', '→   ▶ a', '    ▶ b']);
    await press(browser, '\u001B[A\u001B[A\u001B[A');
    expect(lines(browser)[2]).toBe('→ ▼ root *');
    expect(asked).toEqual(['root', 'root:a']);
  });

  test('shows the APIs of the selected workspace', async () => {
    const browser = await TreeBrowser.open({ current: 'root' }, { source });
    await press(browser, '\u001B[B\u001B[B');
    expect(lines(browser)).toEqual([
      'Workspaces   root:b | root:universal | exports:1 | endpointslices:1 |…',
      '',
      '  ▼ root *',
      '    ▶ a',
      '→   ▶ b',
      '─'.repeat(70),
      'APIExports (1):',
      '  • cowboys',
      'APIExportEndpointSlices (1):',
      '  • cowboys → root:b:cowboys (1 endpoints)',
      'APIBindings (1):',
      '  • tenancy → root:tenancy.kcp.io (workspaces.tenancy.kcp.io)',
    ]);
  });

  test('shows the current path through workspaces that the user may not list', async () => {
    const browser = await TreeBrowser.open({ current: 'root:secret:mine' }, { source });
    expect(lines(browser).slice(2)).toEqual(['  ▼ root', '    ▶ a', '    ▶ b', '    ▼ secret', '→       mine *']);
  });

  test('keeps the selected workspace visible on a small screen', async () => {
    const browser = await TreeBrowser.open({ current: 'root:a:deep' }, { source });
    const small = { columns: 70, rows: 7 };
    expect(lines(browser, small).slice(2)).toEqual(['  ...', '→       deep *', '    ▶ b']);
    await press(browser, 'kk');
    expect(lines(browser, small).slice(2)).toEqual(['→ ▼ root', '    ▼ a', '  ...']);
    expect(browser.render(small).split('\n')).toHaveLength(7);
  });

  test('ends with the selected workspace, or without one', async () => {
    const browser = await TreeBrowser.open({ current: 'root' }, { source });
    expect(await press(browser, 'j\r')).toEqual({ enter: 'root:a' });
    expect(await press(browser, 'q')).toBe('quit');
    expect(await press(browser, '\u0003')).toBe('quit');
    expect(await press(browser, 'x')).toBe('continue');
  });
});
