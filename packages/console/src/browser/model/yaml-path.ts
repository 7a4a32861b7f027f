/** Where a cursor is in a YAML text of blocks, complete or not. */
export interface YamlPlace {
  /** Fields and indices that lead to the mapping or the value. */
  readonly path: readonly string[];
  /** The cursor is where a key belongs, not a value. */
  readonly isKey: boolean;
  /** Keys of the mapping that stand in the text already. */
  readonly siblings: readonly string[];
}

interface Line {
  /** Column of the key or value, behind the marks of list items. */
  readonly column: number;
  /** Columns of the marks of list items that begin on this line. */
  readonly dashes: readonly number[];
  readonly key: string | undefined;
  readonly isBlank: boolean;
}

function readLine(text: string): Line {
  const dashes: number[] = [];
  let column = text.length - text.trimStart().length;
  while (text[column] === '-' && (text[column + 1] === ' ' || text[column + 1] === undefined)) {
    dashes.push(column);
    column++;
    while (text[column] === ' ') column++;
  }
  const rest = text.slice(column);
  const match = /^("(?:[^"\\]|\\.)*"|'[^']*'|[^\s#'"{[&*!|>][^:#]*):(?:\s|$)/.exec(rest);
  const raw = match?.[1]?.trim();
  const key = raw === undefined ? undefined : /^["']/.test(raw) ? raw.slice(1, -1) : raw;
  return { column, dashes, key, isBlank: (rest.trim() === '' && dashes.length === 0) || rest.startsWith('#') };
}

/** Finds the place of `offset`. Indentation decides, so that a text in the middle of being written has one, too. */
export function yamlPlaceAt(text: string, offset: number): YamlPlace {
  const lines = text.split('\n');
  const index = text.slice(0, offset).split('\n').length - 1;
  const lineStart = offset - (text.slice(0, offset).length - (text.lastIndexOf('\n', offset - 1) + 1));
  const read = lines.map(readLine);
  const current = read[index] ?? readLine('');
  const cursor = offset - lineStart;
  // On an empty line the cursor says how deep one wants to be.
  const column = current.isBlank ? cursor : current.column;
  const keyEnd = current.key === undefined ? -1 : (lines[index] ?? '').indexOf(':', current.column);
  const isKey = current.key === undefined || cursor <= keyEnd;
  const path = pathTo(read, index, column);
  if (!isKey && current.key !== undefined) return { path: [...path, current.key], isKey, siblings: [] };
  return { path, isKey, siblings: siblingsOf(read, index, column) };
}

/** Fields and indices above the mapping whose keys begin in `column` around line `index`. */
function pathTo(lines: readonly Line[], index: number, column: number): readonly string[] {
  const path: string[] = [];
  let limit = column;
  // The list of a key may begin in the column of the key.
  let isItem = false;
  const climb = (at: number, dashes: readonly number[]): void => {
    for (const dash of dashes.filter((mark) => mark < limit).toReversed()) {
      path.unshift(String(positionOf(lines, at, dash)));
      limit = dash;
      isItem = true;
    }
  };
  climb(index, lines[index]?.dashes ?? []);
  for (let at = index - 1; at >= 0 && (limit > 0 || isItem); at--) {
    const line = lines[at];
    if (line === undefined || line.isBlank) continue;
    const isAbove = line.column < limit || (isItem && line.column === limit && line.dashes.length === 0);
    if (line.key !== undefined && isAbove) {
      path.unshift(line.key);
      limit = line.column;
      isItem = false;
    }
    climb(at, line.dashes);
  }
  return path;
}

/** Which item of its list the one is that begins on line `at` in column `dash`. */
function positionOf(lines: readonly Line[], at: number, dash: number): number {
  let position = 0;
  for (let place = at - 1; place >= 0; place--) {
    const line = lines[place];
    if (line === undefined || line.isBlank) continue;
    const begin = line.dashes[0] ?? line.column;
    if (line.dashes.includes(dash)) position++;
    else if (begin <= dash) break;
  }
  return position;
}

function siblingsOf(lines: readonly Line[], index: number, column: number): readonly string[] {
  const keys: string[] = [];
  const collect = (from: number, step: 1 | -1): void => {
    for (let at = from; lines[at] !== undefined; at += step) {
      const line = lines[at];
      if (line === undefined || line.isBlank) continue;
      const begin = line.dashes[0] ?? line.column;
      if (line.column === column && line.key !== undefined && (step === -1 || line.dashes.length === 0))
        keys.push(line.key);
      // An item begins here: what is above belongs to another one.
      if (begin < column) return;
    }
  };
  collect(index - 1, -1);
  collect(index + 1, 1);
  return keys;
}
