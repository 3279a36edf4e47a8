// The whole look: first as the page opens, then with everything unfolded.

const look = () => {
  lines.length = 0;
  unseen.clear();
  grounds.clear();
  const texts = htmlTexts();
  lookAtHtmlBoxes(texts);
  lookAtScrolling();
  lookAtPictures();
  lookAtOverlaps();
  lookAtPaper();
  lookAtHtmlText(texts);
  lookAtDocument();
  lookAtHeadings();
  lookAtTables();
  lookAtKeyboard();
  lookAtSafety();
  lookAtPolicy();
};

look();
const folded = all('details:not([open])');
if (folded.length && !settings.print) {
  for (const details of folded) details.open = true;
  look();
  for (const details of folded) details.open = false;
}
return faults;
