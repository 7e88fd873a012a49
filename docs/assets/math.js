// Formulas between \( \) and \[ \], which the build leaves in elements of the class arithmatex, are set by KaTeX.
document.querySelectorAll(".arithmatex").forEach((element) => renderMathInElement(element));
