import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { applyTheme } from './hooks/use-theme.ts';
import './styles/tokens.css';
import './styles/base.css';
import './styles/components.css';
import './styles/shell.css';

applyTheme();
const root = document.querySelector('#root');
if (root !== null) createRoot(root).render(<App />);
