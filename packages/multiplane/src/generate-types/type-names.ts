/** What every generated file imports: no kind may shadow it. */
const imported = 'KubeObject';

/** Names of the types of one file. All are words that begin with a capital letter, so none is a reserved word. */
export class TypeNames {
  readonly #taken = new Set([imported]);

  /** The name of these words, with a number behind it when another type has it. */
  take(...words: readonly string[]): string {
    const name = pascalCase(words.join('-'));
    let unique = name;
    for (let number = 2; this.#taken.has(unique); number++) unique = `${name}${number}`;
    this.#taken.add(unique);
    return unique;
  }
}

/** `my-field.name` becomes `MyFieldName`; capitals inside of a word stay. */
export function pascalCase(text: string): string {
  const name = (text.match(/[A-Za-z0-9]+/g) ?? [])
    .map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`)
    .join('');
  return /^[A-Z]/.test(name) ? name : `T${name}`;
}
