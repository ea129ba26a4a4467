import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Chat } from './chat.jsx';

createRoot(document.getElementById('root')).render(
  <StrictMode>
    <Chat model="model.gguf" />
  </StrictMode>,
);
