import { syntaxTree } from '@codemirror/language';
import { linter, type Diagnostic } from '@codemirror/lint';

/** One fault makes many error nodes after it. */
const maxShown = 5;

/** Marks what is no YAML, before the server says so. */
export const syntaxErrors = linter((view) => {
  const found: Diagnostic[] = [];
  syntaxTree(view.state).iterate({
    enter: (node) => {
      if (!node.type.isError || found.length >= maxShown) return;
      const { from, to } = view.state.doc.lineAt(node.from);
      found.push({
        from: Math.min(node.from, to),
        to: Math.max(node.to, Math.min(from + 1, to)),
        severity: 'error',
        message: 'This is no YAML.',
      });
    },
  });
  return found;
});
