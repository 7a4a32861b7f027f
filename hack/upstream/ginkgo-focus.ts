/** A regular expression for Ginkgo that selects the specs of these names. */
export const ginkgoFocus = (names: readonly string[]): string =>
  `(${names.map((name) => name.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)).join('|')})( |$)`;
