// The engine: asks a question, gives the answer. What is behind it, this page does not know.

export class Problem extends Error {}

export async function ask(question, argument) {
  const body = argument instanceof Blob || argument instanceof ArrayBuffer ? argument : JSON.stringify(argument ?? null);
  let response;
  try {
    response = await fetch(`api/${question}`, { method: "POST", body });
  } catch {
    throw new Problem("The program that serves this page has ended: run `bouquet explore` again.");
  }
  const answer = await response.json();
  if (!response.ok) throw new Problem(answer.error ?? response.statusText);
  return answer;
}
