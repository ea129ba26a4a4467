import { useState } from 'react';
import { useKinglet } from 'kinglet/react';

export function Chat({ model: source }) {
  const chat = useKinglet(source, {
    answer: { temperature: 0 }, // the same answer each time; leave it out for others
  });
  const [question, setQuestion] = useState('');
  const { model, isLoading, progress, isAnswering, error, messages } = chat;

  async function send(event) {
    event.preventDefault();
    setQuestion('');
    const answer = await chat.ask(question);
    if (!answer) setQuestion((typed) => typed || question); // so that it can be asked again
  }

  return (
    <>
      <h1>Chat</h1>
      <main className="log pinned" tabIndex={0}>
        <div role="log" aria-label="Conversation" aria-busy={isAnswering}>
          {messages.map(({ role, content }, i) => (
            <p key={i} className={role}>
              {content}
            </p>
          ))}
        </div>
      </main>
      {isLoading && (
        <progress
          aria-label="Loading"
          value={progress?.loaded}
          max={progress?.total ?? undefined}
        />
      )}
      {error && <p role="alert">{error.message}</p>}
      <form onSubmit={send}>
        <input
          aria-label="Message"
          placeholder="Ask something"
          autoComplete="off"
          value={question}
          onChange={(event) => setQuestion(event.target.value)}
        />
        {isAnswering ? (
          <button type="button" onClick={chat.stop}>
            Stop
          </button>
        ) : (
          <button disabled={!model || question.trim() === ''}>Send</button>
        )}
      </form>
    </>
  );
}
