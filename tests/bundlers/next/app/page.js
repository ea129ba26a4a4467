'use client';

import { Kinglet } from 'kinglet';
import { useEffect, useState } from 'react';

export default function Page() {
  const [text, setText] = useState('');
  useEffect(() => {
    const controller = new AbortController();
    tell(controller.signal).then(setText, (error) => {
      if (!controller.signal.aborted) setText(String(error));
    });
    return () => controller.abort();
  }, []);
  return <output>{text}</output>;
}

async function tell(signal) {
  const model = await Kinglet.load('model.gguf', { signal });
  const story = model.generate('Once upon a time', { maxTokens: 40, temperature: 0, signal });
  const { text } = await story.result;
  model.dispose();
  return text;
}
