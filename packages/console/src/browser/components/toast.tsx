import { createContext, use, useCallback, useMemo, useRef, useState, type ReactElement, type ReactNode } from 'react';
import type { Tone } from '../model/tone.ts';
import { Icon } from './icon.tsx';
import { IconButton } from './icon-button.tsx';

interface Toast {
  readonly id: number;
  readonly tone: Tone;
  readonly title: string;
  readonly text: string | undefined;
}

type Show = (toast: { readonly tone: Tone; readonly title: string; readonly text?: string }) => void;

const ToastContext = createContext<Show>(() => undefined);
const shownMs = 6000;

/** Shows a short message in the corner. Errors stay until they are closed. */
export const useToast = (): Show => use(ToastContext);

export function ToastProvider({ children }: { readonly children: ReactNode }): ReactElement {
  const [toasts, setToasts] = useState<readonly Toast[]>([]);
  const lastId = useRef(0);
  const close = useCallback((id: number) => setToasts((all) => all.filter((toast) => toast.id !== id)), []);
  const show = useCallback<Show>(
    ({ tone, title, text }) => {
      const id = ++lastId.current;
      setToasts((all) => [...all.slice(-3), { id, tone, title, text }]);
      if (tone !== 'bad') setTimeout(() => close(id), shownMs);
    },
    [close],
  );
  const list = useMemo(
    () => (
      <div className="toasts" role="status" aria-live="polite">
        {toasts.map(({ id, tone, title, text }) => (
          <div key={id} className={`toast toast-${tone}`}>
            <Icon name={tone === 'bad' || tone === 'warn' ? 'warning' : tone === 'good' ? 'check' : 'info'} />
            <div>
              <strong>{title}</strong>
              {text !== undefined && <p>{text}</p>}
            </div>
            <IconButton icon="close" label="Close the message" onClick={() => close(id)} />
          </div>
        ))}
      </div>
    ),
    [toasts, close],
  );
  return (
    <ToastContext value={show}>
      {children}
      {list}
    </ToastContext>
  );
}
