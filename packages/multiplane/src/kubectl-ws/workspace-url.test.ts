import { describe, expect, test } from '@jest/globals';
import { parseWorkspaceUrl, resolveWorkspacePath, workspaceUrl } from './workspace-url.ts';

describe('resolveWorkspacePath', () => {
  test.each([
    ['root:a', 'b', 'root:a:b'],
    ['root:a', 'b:c', 'root:a:b:c'],
    ['root:a', '..', 'root'],
    ['root:a:b', '..:c', 'root:a:c'],
    ['root:a:b', ':', 'root'],
    ['root:a', ':root:x', 'root:x'],
    ['root:a', '/root/x/y', 'root:x:y'],
    ['root:a', '.:b', 'root:a:b'],
  ])('from %s with %s to %s', (current, argument, path) => {
    expect(resolveWorkspacePath(current, argument)).toEqual({ path });
  });

  test('accepts root: with a deprecation note', () => {
    expect(resolveWorkspacePath('root:a', 'root:b')).toMatchObject({
      path: 'root:b',
      note: expect.stringContaining("Instead, use ':root'"),
    });
  });

  test.each([['..'], ['a::b'], ['A'], ['a b'], ['../../x']])('rejects %s at root', (argument) => {
    expect(() => resolveWorkspacePath('root', argument)).toThrow('invalid workspace path');
  });
});

describe('parseWorkspaceUrl', () => {
  test('keeps the path prefix of a proxy', () => {
    const url = parseWorkspaceUrl('https://host:1/prefix/clusters/root:a');
    expect(url).toEqual({ base: 'https://host:1/prefix', path: 'root:a' });
    expect(workspaceUrl({ ...url, path: 'root:b' })).toBe('https://host:1/prefix/clusters/root:b');
  });

  test('rejects URLs that are not of a workspace', () => {
    expect(() => parseWorkspaceUrl('https://host')).toThrow('is not pointing to a workspace');
    expect(() => parseWorkspaceUrl('https://host/clusters/A_b')).toThrow('invalid cluster name: "A_b"');
  });
});
