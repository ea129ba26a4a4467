import { Kinglet } from 'kinglet';

/** Generates the story once, on the machine that builds the page. */
export default async function Page() {
  const model = await Kinglet.load(process.env.MODEL);
  const story = model.generate('Once upon a time', { maxTokens: 40, temperature: 0 });
  const { text } = await story.result;
  model.dispose();
  return <output>{text}</output>;
}
