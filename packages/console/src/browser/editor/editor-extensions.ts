import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { yaml } from '@codemirror/lang-yaml';
import { EditorState, type Extension } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { tags } from '@lezer/highlight';

const theme = EditorView.theme({
  '&': { height: '100%', color: 'var(--text)', backgroundColor: 'transparent', fontSize: '12.5px' },
  '&.cm-focused': { outline: 'none' },
  '.cm-content:focus-visible': { boxShadow: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '20px', fontVariantLigatures: 'none' },
  '.cm-content': { padding: '12px 0', caretColor: 'var(--text)' },
  '.cm-line': { padding: '0 16px 0 8px' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'transparent', color: 'var(--text-faint)', border: 'none' },
  '.cm-lineNumbers .cm-gutterElement': { padding: '0 4px 0 16px' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'light-dark(rgb(36 86 200 / 5%), rgb(109 155 255 / 7%))' },
  '.cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground': {
    backgroundColor: 'light-dark(#cfdffc, #29457f)',
  },
  '.cm-tooltip': {
    border: '1px solid var(--border)',
    borderRadius: '8px',
    backgroundColor: 'var(--surface-raised)',
    color: 'var(--text)',
    boxShadow: 'var(--shadow-md)',
    overflow: 'hidden',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)', fontSize: '12.5px', maxHeight: '260px' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '4px 10px' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': { backgroundColor: 'var(--accent)', color: '#fff' },
  '.cm-completionDetail': { color: 'inherit', fontStyle: 'normal', marginLeft: '12px' },
  '.cm-completionIcon': { display: 'none' },
  '.cm-completionInfo, .cm-schema-hover': {
    maxWidth: '420px',
    padding: '10px 12px',
    fontFamily: 'var(--font)',
    fontSize: '13px',
    lineHeight: '1.5',
    whiteSpace: 'pre-wrap',
  },
  '.cm-schema-type': { color: 'var(--text-muted)', fontFamily: 'var(--mono)', fontSize: '12px' },
  '.cm-panels': { backgroundColor: 'var(--surface-sunken)', color: 'var(--text)', borderColor: 'var(--border)' },
  '.cm-panel input, .cm-panel button': {
    border: '1px solid var(--border-strong)',
    borderRadius: '4px',
    background: 'var(--surface)',
    color: 'var(--text)',
  },
  '.cm-searchMatch': { backgroundColor: 'var(--warn-soft)' },
  '.cm-foldPlaceholder': { border: 'none', backgroundColor: 'var(--neutral-soft)', color: 'var(--text-muted)' },
  '.cm-changedLine': { backgroundColor: 'var(--good-soft) !important' },
  '&.cm-merge-a .cm-changedLine, .cm-deletedChunk': { backgroundColor: 'var(--bad-soft) !important' },
  '.cm-changedText': { background: 'light-dark(rgb(26 127 75 / 12%), rgb(63 191 127 / 22%)) !important' },
  '&.cm-merge-a .cm-changedText': { background: 'light-dark(rgb(201 48 44 / 11%), rgb(239 106 100 / 22%)) !important' },
  '.cm-collapsedLines': {
    background: 'var(--surface-sunken)',
    color: 'var(--text-muted)',
    fontFamily: 'var(--font)',
    padding: '4px 16px',
  },
  '.cm-collapsedLines:before, .cm-collapsedLines:after': { content: '"" !important', margin: '0' },
});

const highlight = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--code-key)' },
  { tag: [tags.string, tags.content], color: 'var(--code-string)' },
  { tag: [tags.number], color: 'var(--code-number)' },
  { tag: [tags.bool, tags.null, tags.keyword, tags.atom], color: 'var(--code-atom)' },
  { tag: [tags.comment, tags.meta], color: 'var(--code-comment)' },
]);

/** The page allows style elements with its nonce only. */
const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '';

/** What every editor of the console has: YAML in the colours of the theme. */
export const commonExtensions: Extension = [
  EditorView.cspNonce.of(nonce),
  EditorState.tabSize.of(2),
  yaml(),
  theme,
  syntaxHighlighting(highlight),
];
