// @ts-check
// Buttons that change something on the server. Its answer is shown as text; after a success the page is loaded again.
(() => {
  "use strict";

  class Post extends HTMLElement {
    connectedCallback() {
      for (const button of this.querySelectorAll("button[data-to]")) {
        if (button instanceof HTMLButtonElement) button.addEventListener("click", () => this.press(button));
      }
    }

    /** What cannot be taken back is asked for twice. @param {HTMLButtonElement} button */
    press(button) {
      const { confirmation } = button.dataset;
      if (!confirmation) return void this.send(button);
      delete button.dataset.confirmation;
      const label = button.textContent;
      button.textContent = confirmation;
      button.removeAttribute("aria-label");
      button.addEventListener("blur", () => { button.dataset.confirmation = confirmation; button.textContent = label; }, { once: true });
    }

    /** @param {HTMLButtonElement} button */
    async send(button) {
      button.disabled = true;
      this.show("…");
      const request = { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" };
      const answer = await fetch(button.dataset.to ?? "", request).catch(() => undefined);
      if (answer?.ok) return location.reload();
      const problem = await answer?.json().catch(() => undefined);
      this.show([problem?.title, problem?.detail].filter(Boolean).join(": ") || "the server did not answer: try again");
      button.disabled = false;
      button.focus();
    }

    /** @param {string} text */
    show(text) {
      const place = this.querySelector("[role=status]");
      if (place) place.replaceChildren(.../** @type {any} */ (globalThis).karatWithCode(text));
    }
  }

  document.addEventListener("DOMContentLoaded", () => customElements.define("k-post", Post));
})();
