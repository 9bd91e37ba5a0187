"use strict";
// Asks the server from a script; a session that has ended is begun again without leaving the page.

const dialog = document.querySelector("#sign-in-again");
const form = dialog.querySelector("[data-again]");
const problem = dialog.querySelector("[data-again-error]");
let asked = null;

// Like fetch for a form, with our token; waits for a new sign-in where one is needed.
export async function send(address, body) {
  for (;;) {
    const reply = await post(address, body);
    if (reply.status === 401) {
      await signInAgain();
    } else if (reply.status === 403) {
      // Signed in anew in another tab: the token of this page is an old one.
      await renewToken();
      return post(address, body);
    } else {
      return reply;
    }
  }
}

function post(address, body) {
  body.delete("csrfmiddlewaretoken"); // may be an old one; the header is read where it is missing
  return fetch(address, {
    method: "POST",
    body,
    headers: { "X-Requested-With": "fetch", "X-CSRFToken": token().value },
    redirect: "manual",
  });
}

function token() {
  return document.querySelector('input[name="csrfmiddlewaretoken"]');
}

async function renewToken() {
  const reply = await fetch(location.href, { headers: { "X-Requested-With": "fetch" } });
  if (reply.status === 401) return signInAgain();
  const page = new DOMParser().parseFromString(await reply.text(), "text/html");
  const fresh = page.querySelector('input[name="csrfmiddlewaretoken"]');
  if (!fresh) throw new Error("the page cannot be loaded again");
  const name = 'input[name="csrfmiddlewaretoken"]';
  for (const input of document.querySelectorAll(name)) input.value = fresh.value;
}

function signInAgain() {
  asked ??= new Promise((resolve) => {
    dialog.showModal();
    dialog.addEventListener("close", resolve, { once: true });
  }).finally(() => {
    asked = null;
  });
  return asked;
}

// Closing it without signing in would only ask again.
dialog.addEventListener("cancel", (event) => event.preventDefault());

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  problem.hidden = true;
  try {
    const reply = await post(form.action, new FormData(form));
    if (reply.status !== 204) throw new Error((await reply.text()) || "Sign-in failed.");
    await renewToken();
    form.elements.password.value = "";
    dialog.close();
  } catch (error) {
    problem.textContent =
      error instanceof TypeError ? "The server cannot be reached. Try again." : error.message;
    problem.hidden = false;
  }
});
