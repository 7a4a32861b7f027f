import { closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { bracketMatching, foldGutter, foldKeymap, indentOnInput } from '@codemirror/language';
import { lintGutter, lintKeymap } from '@codemirror/lint';
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search';
import { Compartment, EditorState } from '@codemirror/state';
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { useEffect, useMemo, useRef, type ReactElement } from 'react';
import type { YamlEditorProps } from './yaml-props.ts';
import { commonExtensions } from './editor-extensions.ts';
import { schemaSupport } from './schema-support.ts';
import { syntaxErrors } from './syntax-errors.ts';

/** The editor itself; a chunk of its own, which `YamlEditor` loads. */
export function CodeEditor({ label, value, onChange, schema }: YamlEditorProps): ReactElement {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const changed = useRef(onChange);
  const support = useMemo(() => new Compartment(), []);
  useEffect(() => {
    changed.current = onChange;
  }, [onChange]);
  useEffect(() => {
    if (place.current === null) return undefined;
    const isReadOnly = changed.current === undefined;
    view.current = new EditorView({
      parent: place.current,
      state: EditorState.create({
        doc: '',
        extensions: [
          commonExtensions,
          lineNumbers(),
          foldGutter(),
          drawSelection(),
          history(),
          indentOnInput(),
          bracketMatching(),
          closeBrackets(),
          highlightActiveLine(),
          highlightSelectionMatches(),
          syntaxErrors,
          lintGutter(),
          keymap.of([
            ...closeBracketsKeymap,
            ...defaultKeymap,
            ...searchKeymap,
            ...historyKeymap,
            ...foldKeymap,
            ...completionKeymap,
            ...lintKeymap,
            // Escape, then Tab leaves the editor.
            indentWithTab,
          ]),
          support.of([]),
          EditorView.contentAttributes.of({ 'aria-label': label }),
          EditorState.readOnly.of(isReadOnly),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) changed.current?.(update.state.doc.toString());
          }),
        ],
      }),
    });
    return () => view.current?.destroy();
  }, [label, support]);
  useEffect(() => {
    const state = view.current?.state;
    if (state === undefined || state.doc.toString() === value) return;
    view.current?.dispatch({ changes: { from: 0, to: state.doc.length, insert: value } });
  }, [value, label]);
  useEffect(() => {
    view.current?.dispatch({ effects: support.reconfigure(schema === undefined ? [] : schemaSupport(schema)) });
  }, [schema, support]);
  return <div ref={place} className="code-editor" />;
}
