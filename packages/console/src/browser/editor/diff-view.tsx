import { MergeView } from '@codemirror/merge';
import { EditorState } from '@codemirror/state';
import { EditorView, lineNumbers } from '@codemirror/view';
import { useEffect, useRef, type ReactElement } from 'react';
import type { YamlDiffProps } from './yaml-props.ts';
import { commonExtensions } from './editor-extensions.ts';

function takeLeft(): HTMLElement {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = '→';
  button.title = 'Take what is on the left';
  button.setAttribute('aria-label', button.title);
  return button;
}

/** Two texts side by side; a chunk of its own, which `YamlDiff` loads. */
export function DiffView({ before, after, onChange }: YamlDiffProps): ReactElement {
  const place = useRef<HTMLDivElement>(null);
  const changed = useRef(onChange);
  useEffect(() => {
    changed.current = onChange;
  }, [onChange]);
  useEffect(() => {
    if (place.current === null) return undefined;
    const isReadOnly = changed.current === undefined;
    const common = [commonExtensions, lineNumbers(), EditorView.lineWrapping];
    const merge = new MergeView({
      parent: place.current,
      a: {
        doc: before.text,
        extensions: [
          ...common,
          EditorState.readOnly.of(true),
          EditorView.contentAttributes.of({ 'aria-label': before.title }),
        ],
      },
      b: {
        doc: after.text,
        extensions: [
          ...common,
          EditorState.readOnly.of(isReadOnly),
          EditorView.contentAttributes.of({ 'aria-label': after.title }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) changed.current?.(update.state.doc.toString());
          }),
        ],
      },
      collapseUnchanged: { margin: 3, minSize: 6 },
      gutter: true,
      ...(isReadOnly ? {} : { revertControls: 'a-to-b', renderRevertControl: takeLeft }),
    });
    return () => merge.destroy();
  }, [before, after.title, after.text]);
  return (
    <div className="yaml-diff">
      <div className="yaml-diff-head">
        <span>{before.title}</span>
        <span>{after.title}</span>
      </div>
      <div ref={place} className="yaml-diff-body" />
    </div>
  );
}
